-- Wireshark and tshark: the Levelflow shim and the headers of its laws, in UDP on any port.
--
-- Where to put it: the folder that Help > About Wireshark > Folders calls "Personal Lua Plugins", usually
-- ~/.local/lib/wireshark/plugins; or, once, `tshark -X lua_script:levelflow.lua -r FILE`.
-- The format: docs/reference/wire-format.md. Works with Wireshark 3.4 and newer.

local LENGTH, VERSION, MOST_SHIMS = 24, 1, 8
local ANSWER, MAX_F32, MAX_START = 3, 3.4028234663852886e38, 0x800000

local proto = Proto("levelflow", "Levelflow")
local kinds = { [0] = "Data", [1] = "Syn", [2] = "Fin", [3] = "Ack" }

local fields = {
    version = ProtoField.uint8("levelflow.version", "Version"),
    kind = ProtoField.uint8("levelflow.kind", "Kind", base.DEC, kinds),
    marked = ProtoField.bool("levelflow.marked", "Answers a marked packet", 8, nil, 0x01),
    more = ProtoField.bool("levelflow.more", "Another shim follows", 8, nil, 0x80),
    law = ProtoField.uint8("levelflow.law", "Law"),
    law_name = ProtoField.string("levelflow.law.name", "Name of the law"),
    header = ProtoField.uint8("levelflow.header", "Length of the law's header"),
    flow = ProtoField.uint32("levelflow.flow", "Flow", base.HEX),
    number = ProtoField.uint32("levelflow.number", "Number"),
    time = ProtoField.uint64("levelflow.time", "Sender's clock, ns"),
    payload = ProtoField.bytes("levelflow.payload", "Payload"),
    unknown = ProtoField.bytes("levelflow.unknown", "Header of an unknown law"),
}

local problems = {
    cut = ProtoExpert.new("levelflow.cut", "The datagram ends within the shim or the law's header",
        expert.group.MALFORMED, expert.severity.ERROR),
    version = ProtoExpert.new("levelflow.version.unknown", "Not version 1 of the shim",
        expert.group.UNDECODED, expert.severity.WARN),
    kind = ProtoExpert.new("levelflow.kind.refused", "Kinds are 0 to 3",
        expert.group.MALFORMED, expert.severity.ERROR),
    law = ProtoExpert.new("levelflow.law.unknown", "No law that this dissector knows",
        expert.group.UNDECODED, expert.severity.WARN),
    length = ProtoExpert.new("levelflow.header.refused", "Another length than the header of this law has",
        expert.group.MALFORMED, expert.severity.ERROR),
    field = ProtoExpert.new("levelflow.field.refused", "A value that no sender or router writes",
        expert.group.MALFORMED, expert.severity.ERROR),
    chain = ProtoExpert.new("levelflow.chain.refused", "More shims than any endpoint sends",
        expert.group.MALFORMED, expert.severity.ERROR),
}

-- What values are refused, as the laws' decoders do.
local function any(_) return true end
local function number(x) return x == x end
local function finite(x) return x == x and x ~= math.huge and x ~= -math.huge end
local function magnitude(x) return finite(x) and x >= 0 end
local function price(x) return finite(x) and x <= 1 end
local function duration(x) return magnitude(x) and x <= 100 end
local function change(x) return x == x and x ~= -math.huge end
local function offered(x) return x == x and x > 0 end
local function is(value) return function(x) return x == value end end

-- Fields of a law: name, what it says, bytes, kind of value, what is allowed.
local emkc = {
    { "id", "Router", 4, "uint", any },
    { "seq", "Intervals that it finished", 4, "uint", any },
    { "price", "Price", 4, "float", price },
    { "interval", "Length of an interval, s", 4, "float", magnitude },
    { "user", "Number of the packet, or rate as a float", 4, "uint", any },
}
local emkc_avq = { table.unpack(emkc) }
emkc_avq[3] = { "price", "Price", 4, "float", finite }
emkc_avq[6] = { "rtt", "Round-trip time, s", 4, "float", duration }

local laws = {
    [1] = { "jetmax", {
        { "source_port", "Port of the sender", 2, "uint", any },
        { "destination_port", "Port of the receiver", 2, "uint", any },
        { "flags", "Flags", 1, "hex", any },
        { "bottleneck", "Bottleneck (R_T)", 1, "uint", any },
        { "hop", "Routers passed (R_C)", 1, "uint", any },
        { "suggested", "Router that reports (R_S)", 1, "uint", any },
        { "seq", "Number of the packet", 4, "uint", any },
        { "price", "Largest price", 4, "float", number },
        { "share", "Fair share there, bit/s", 4, "float", number },
        { "virtual_size", "Proposed size, bytes", 4, "float", magnitude },
        { "gap", "Time between packets, s", 4, "float", magnitude },
    } },
    [2] = { "emkc", emkc },
    [3] = { "rcp", {
        { "rate", "Smallest rate offered, bit/s", 4, "float", offered },
        { "rtt", "Round-trip time, s", 4, "float", duration },
    } },
    [4] = { "maxnet", {
        { "kind", "Kind of option", 1, "uint", is(42) },
        { "length", "Length of option", 1, "uint", is(8) },
        { "echo", "Echo", 3, "hex", any },
        { "price", "Price", 3, "hex", any },
    } },
    [5] = { "xcp", {
        { "protocol", "Next protocol", 1, "uint", is(0) },
        { "length", "Length", 1, "uint", is(20) },
        { "format", "Version and format", 1, "hex", is(0x33) },
        { "unused", "Unused", 1, "uint", is(0) },
        { "gap", "Time between packets (X), s", 4, "float", duration },
        { "rtt", "Round-trip time, s", 4, "float", duration },
        { "reverse_feedback", "Reverse feedback, byte/s", 4, "float", change },
        { "delta_throughput", "Change of throughput, byte/s", 4, "float", change },
    } },
    [6] = { "emkc_avq", emkc_avq },
    [7] = { "kelly", {
        { "price", "Sum of prices", 4, "float", finite },
        { "seq", "Intervals that the first router finished", 4, "uint", any },
    } },
}

local sizes = { [1] = "uint8", [2] = "uint16", [3] = "uint24", [4] = "uint32" }

-- Adds "levelflow.LAW.FIELD" for each field of each law.
for _, law in pairs(laws) do
    law.length = 0
    law.field = {}
    for _, row in ipairs(law[2]) do
        local name, title, size, kind = row[1], row[2], row[3], row[4]
        local abbreviation = "levelflow." .. law[1] .. "." .. name
        local field
        if kind == "float" then
            field = ProtoField.float(abbreviation, title)
        else
            field = ProtoField[sizes[size]](abbreviation, title, kind == "hex" and base.HEX or base.DEC)
        end
        law.field[name] = field
        fields[law[1] .. "." .. name] = field
        law.length = law.length + size
    end
end
fields["jetmax.ack"] = ProtoField.bool("levelflow.jetmax.ack", "Answer", 8, nil, 0x80)
fields["jetmax.own_zero"] = ProtoField.bool("levelflow.jetmax.own_zero", "The bottleneck has price zero", 8, nil, 0x40)
fields["jetmax.epoch"] = ProtoField.uint8("levelflow.jetmax.epoch", "Interval of the report, mod 16", base.DEC, nil, 0x0f)
fields["maxnet.seconds"] = ProtoField.double("levelflow.maxnet.price.seconds", "Price, s")
fields["maxnet.start"] = ProtoField.bool("levelflow.maxnet.price.start", "MaxStart: a rate, not a price")

proto.fields = (function()
    local list = {}
    for _, field in pairs(fields) do list[#list + 1] = field end
    return list
end)()
proto.experts = { problems.cut, problems.version, problems.kind, problems.law, problems.length, problems.field,
    problems.chain }

local function shown(x)
    if x >= MAX_F32 then return "max" end
    if x <= -MAX_F32 then return "none" end
    return string.format("%.4g", x)
end

-- What the column says of a header.
local summaries = {
    jetmax = function(v)
        return string.format("hop=%d R_T=%d R_S=%d price=%s share=%s", v.hop, v.bottleneck, v.suggested,
            shown(v.price), shown(v.share))
    end,
    emkc = function(v) return string.format("router=%d interval=%d price=%s", v.id, v.seq, shown(v.price)) end,
    rcp = function(v) return string.format("rate=%s rtt=%s", shown(v.rate), shown(v.rtt)) end,
    maxnet = function(v) return string.format("price=0x%06x echo=0x%06x", v.price, v.echo) end,
    xcp = function(v) return string.format("rtt=%s change=%s", shown(v.rtt), shown(v.delta_throughput)) end,
    kelly = function(v) return string.format("price=%s interval=%d", shown(v.price), v.seq) end,
}
summaries.emkc_avq = summaries.emkc

-- Values that are fine one by one, but not together.
local function consistent(name, v)
    return name ~= "xcp" or (v.gap == 0) == (v.rtt == 0)
end

local function dissect_header(law, range, tree)
    local name = law[1]
    local branch = tree:add(proto, range, "Header of " .. name)
    local values, at, fine = {}, 0, true
    for _, row in ipairs(law[2]) do
        local key, size, kind, allowed = row[1], row[3], row[4], row[5]
        local part = range(at, size)
        local value = kind == "float" and part:float() or part:uint()
        local item = branch:add(law.field[key], part)
        if not allowed(value) then
            item:add_proto_expert_info(problems.field)
            fine = false
        end
        values[key] = value
        at = at + size
    end
    if fine and not consistent(name, values) then
        branch:add_proto_expert_info(problems.field, "gap and rtt are 0 together or not at all")
        fine = false
    end
    if name == "jetmax" then
        for _, key in ipairs({ "ack", "own_zero", "epoch" }) do branch:add(fields["jetmax." .. key], range(4, 1)) end
    elseif name == "maxnet" then
        local price = values.price
        branch:add(fields["maxnet.start"], range(5, 3), price >= MAX_START):set_generated()
        branch:add(fields["maxnet.seconds"], range(5, 3), (price % MAX_START) / 2 ^ 19):set_generated()
    end
    return fine and summaries[name](values) or "refused"
end

-- One shim and the header after it: where the next begins, if one follows, and what the column says.
local function dissect_shim(tvb, at, tree)
    local left = tvb:len() - at
    local branch = tree:add(proto, tvb(at, math.min(left, LENGTH)), "Shim")
    if left < 4 then
        branch:add_proto_expert_info(problems.cut)
        return nil, at, "cut off"
    end
    branch:add(fields.version, tvb(at + 3, 1))
    if tvb(at + 3, 1):uint() ~= VERSION then
        branch:add_proto_expert_info(problems.version)
        return nil, at + 4, "version " .. tvb(at + 3, 1):uint()
    end
    if left < LENGTH then
        branch:add_proto_expert_info(problems.cut)
        return nil, tvb:len(), "cut off"
    end
    local kind, flags = tvb(at + 4, 1):uint(), tvb(at + 5, 1):uint()
    local number, length = tvb(at + 6, 1):uint(), tvb(at + 7, 1):uint()
    local law = laws[number]
    local item = branch:add(fields.kind, tvb(at + 4, 1))
    if not kinds[kind] then item:add_proto_expert_info(problems.kind) end
    branch:add(fields.marked, tvb(at + 5, 1))
    branch:add(fields.more, tvb(at + 5, 1))
    item = branch:add(fields.law, tvb(at + 6, 1))
    local name = law and law[1] or (number == 0 and "no law" or "unknown law")
    item:append_text(" (" .. name .. ")")
    branch:add(fields.law_name, tvb(at + 6, 1), name):set_generated()
    if not law and number ~= 0 then item:add_proto_expert_info(problems.law) end
    item = branch:add(fields.header, tvb(at + 7, 1))
    if length ~= (law and law.length or (number == 0 and 0 or length)) then
        item:add_proto_expert_info(problems.length)
    end
    branch:add(fields.flow, tvb(at + 8, 4))
    branch:add(fields.number, tvb(at + 12, 4))
    branch:add(fields.time, tvb(at + 16, 8))
    local text = string.format("%s %d flow 0x%08x %s", kinds[kind] or "?", tvb(at + 12, 4):uint(),
        tvb(at + 8, 4):uint(), name)
    if kind == ANSWER and flags % 2 == 1 then text = text .. " marked" end
    local stop = at + LENGTH + length
    if stop > tvb:len() then
        branch:add_proto_expert_info(problems.cut)
        return nil, tvb:len(), text .. " cut off"
    end
    if law and law.length == length then
        text = text .. " " .. dissect_header(law, tvb(at + LENGTH, length), tree)
    elseif length > 0 then
        tree:add(fields.unknown, tvb(at + LENGTH, length))
    end
    return flags >= 0x80, stop, text
end

function proto.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "Levelflow"
    local top = tree:add(proto, tvb())
    local at, texts, more = 0, {}, true
    while more do
        if #texts == MOST_SHIMS then
            top:add_proto_expert_info(problems.chain)
            break
        end
        if #texts > 0 and (tvb:len() - at < 3 or tvb(at, 3):string() ~= "LVF") then
            top:add_proto_expert_info(problems.cut, "Another shim should follow")
            break
        end
        more, at, texts[#texts + 1] = dissect_shim(tvb, at, top)
    end
    if more == false and tvb:len() > at then top:add(fields.payload, tvb(at)) end
    pinfo.cols.info = table.concat(texts, " | ")
    return tvb:len()
end

proto:register_heuristic("udp", function(tvb, pinfo, tree)
    if tvb:len() < 4 or tvb(0, 3):string() ~= "LVF" then return false end
    proto.dissector(tvb, pinfo, tree)
    return true
end)
