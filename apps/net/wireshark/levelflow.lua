-- Wireshark and tshark: the Levelflow shim and the headers of its signallings, in UDP on any port.
--
-- Installation: the folder named "Personal Lua Plugins" in Help > About Wireshark > Folders, usually
-- ~/.local/lib/wireshark/plugins; or, once, `tshark -X lua_script:levelflow.lua -r FILE`.
-- The format: docs/reference/wire-format.md. Works with Wireshark 3.4 and newer.

local LENGTH, VERSION, MOST_SHIMS = 24, 1, 8
local ACK, MAX_F32 = 3, 3.4028234663852886e38

local proto = Proto("levelflow", "Levelflow")
local kinds = { [0] = "Data", [1] = "Syn", [2] = "Fin", [3] = "Ack" }

local fields = {
    version = ProtoField.uint8("levelflow.version", "Version"),
    kind = ProtoField.uint8("levelflow.kind", "Kind", base.DEC, kinds),
    marked = ProtoField.bool("levelflow.marked", "Acknowledges a marked packet", 8, nil, 0x01),
    unacknowledged = ProtoField.bool("levelflow.unacknowledged", "Not acknowledged", 8, nil, 0x02),
    more = ProtoField.bool("levelflow.more", "Another shim follows", 8, nil, 0x80),
    signalling = ProtoField.uint8("levelflow.signalling", "Signalling"),
    signalling_name = ProtoField.string("levelflow.signalling.name", "Name of the signalling"),
    header = ProtoField.uint8("levelflow.header", "Length of the signalling's header"),
    flow = ProtoField.uint32("levelflow.flow", "Flow", base.HEX),
    number = ProtoField.uint32("levelflow.number", "Number"),
    time = ProtoField.uint64("levelflow.time", "Sender's clock, ns"),
    payload = ProtoField.bytes("levelflow.payload", "Payload"),
    unknown = ProtoField.bytes("levelflow.unknown", "Header of an unknown signalling"),
}

local problems = {
    cut = ProtoExpert.new("levelflow.cut", "The datagram ends within the shim or the signalling's header",
        expert.group.MALFORMED, expert.severity.ERROR),
    version = ProtoExpert.new("levelflow.version.unknown", "Not version 1 of the shim",
        expert.group.UNDECODED, expert.severity.WARN),
    kind = ProtoExpert.new("levelflow.kind.refused", "Kinds are 0 to 3",
        expert.group.MALFORMED, expert.severity.ERROR),
    signalling = ProtoExpert.new("levelflow.signalling.unknown", "The signalling is unknown to this dissector",
        expert.group.UNDECODED, expert.severity.WARN),
    length = ProtoExpert.new("levelflow.header.refused", "Length differs from that of this signalling's header",
        expert.group.MALFORMED, expert.severity.ERROR),
    field = ProtoExpert.new("levelflow.field.refused", "A value that no sender or router writes",
        expert.group.MALFORMED, expert.severity.ERROR),
    chain = ProtoExpert.new("levelflow.chain.refused", "More shims than any endpoint sends",
        expert.group.MALFORMED, expert.severity.ERROR),
}

-- Signallings by number, with the fields of their headers: writer, allowed values (`only` one, or floats from `low` to
-- `high`), names of bits, and fields that are 0 together or not at all.
local signallings = {
    -- Written by `make gen` from here,
    [1] = {
        name = "jetmax",
        fields = {
            { name = "source_port", doc = "always 0; UDP has the port of the sender", bytes = 2, writer = "sender" },
            { name = "destination_port", doc = "always 0; UDP has the port of the receiver", bytes = 2, writer = "sender" },
            { name = "flags", doc = "flags; bits 5 and 4 are sent as 0 and not changed by routers", bytes = 1, writer = "router", bits = {
                { name = "ack", mask = 128, doc = "an ACK (written by the receiver)" },
                { name = "own_zero", mask = 64, doc = "the router named by bottleneck has price zero" },
                { name = "epoch", mask = 15, doc = "number, modulo 16, of the interval in which price and share were measured" },
            } },
            { name = "bottleneck", doc = "R_T: hop of the sender's bottleneck", bytes = 1, writer = "sender" },
            { name = "hop", doc = "R_C: routers passed so far", bytes = 1, writer = "router" },
            { name = "suggested", doc = "R_S: hop that reports price and share", bytes = 1, writer = "router" },
            { name = "seq", doc = "number of the packet", bytes = 4, writer = "sender" },
            { name = "price", doc = "p+: largest price of the routers passed; -3.4e38 before the first router", bytes = 4, writer = "router", low = -math.huge, high = math.huge },
            { name = "share", doc = "g+: fair share at the suggested hop, bit/s; 3.4e38 without responsive flows", bytes = 4, writer = "router", low = -math.huge, high = math.huge },
            { name = "virtual_size", doc = "s+: packet size times proposed rate, divided by the rate (eq 149), bytes", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "gap", doc = "delta: packet size divided by the rate, s", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
        },
    },
    [2] = {
        name = "emkc",
        fields = {
            { name = "id", doc = "router that wrote this feedback; 0 before the first router", bytes = 4, writer = "router" },
            { name = "seq", doc = "number of finished intervals of this router", bytes = 4, writer = "router" },
            { name = "price", doc = "p = (X - C) / X of the last finished interval of this router; -3.4e38 without a measurement", bytes = 4, writer = "router", low = -3.4028234663852886e+38, high = 1.0 },
            { name = "delta", doc = "length of the last finished interval, s", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "usr", doc = "number of the packet; for naive senders, the sending rate in bit/s as a float", bytes = 4, writer = "sender" },
        },
    },
    [3] = {
        name = "rcp",
        fields = {
            { name = "rate", doc = "R_p: smallest rate offered by the routers passed, bit/s; infinite before the first router", bytes = 4, writer = "router", low = 1.401298464324817e-45, high = math.huge },
            { name = "rtt", doc = "RTT_p: the sender's estimate of its round-trip time, s; 0 before the first measurement", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
        },
    },
    [4] = {
        name = "maxnet",
        fields = {
            { name = "kind", doc = "kind of TCP option", bytes = 1, writer = "sender", only = 42 },
            { name = "length", doc = "length of the option", bytes = 1, writer = "sender", only = 8 },
            { name = "echo", doc = "signal that the receiver returns to the sender; not changed by routers", bytes = 3, writer = "receiver", bits = {
                { name = "start", mask = 8388608, doc = "set if the code is a rate of MaxStart; clear if the code is a price" },
                { name = "code", mask = 8388607, doc = "price, in units of 2^-19 s; 0 before the first router" },
            } },
            { name = "price", doc = "largest price, or smallest spare capacity, of the routers passed", bytes = 3, writer = "router", bits = {
                { name = "start", mask = 8388608, doc = "set if the code is a rate of MaxStart; clear if the code is a price" },
                { name = "code", mask = 8388607, doc = "price, in units of 2^-19 s; 0 before the first router" },
            } },
        },
    },
    [5] = {
        name = "xcp",
        zero_together = { "gap", "rtt" },
        fields = {
            { name = "protocol", doc = "next protocol; not modelled", bytes = 1, writer = "sender", only = 0 },
            { name = "length", doc = "length of this header", bytes = 1, writer = "sender", only = 20 },
            { name = "format", doc = "version 3 of the draft, and format 3, which the draft does not use: numbers are floats", bytes = 1, writer = "sender", only = 51 },
            { name = "unused", doc = "", bytes = 1, writer = "sender", only = 0 },
            { name = "gap", doc = "X = H_rtt s / H_cwnd: inter-packet time of the flow, s; 0 before the first measurement of the round-trip time", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
            { name = "rtt", doc = "H_rtt: smoothed round-trip time, s; 0 before the first measurement", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
            { name = "reverse_feedback", doc = "delta_throughput of the acknowledged packet, byte/s", bytes = 4, writer = "receiver", low = -3.4028234663852886e+38, high = math.huge },
            { name = "delta_throughput", doc = "H_feedback / H_rtt: permitted change of throughput, byte/s; infinity from the sender, reduced by routers", bytes = 4, writer = "router", low = -3.4028234663852886e+38, high = math.huge },
        },
    },
    [6] = {
        name = "emkc_avq",
        fields = {
            { name = "id", doc = "see EMKC", bytes = 4, writer = "router" },
            { name = "seq", doc = "see EMKC", bytes = 4, writer = "router" },
            { name = "price", doc = "see EMKC; C is the virtual capacity", bytes = 4, writer = "router", low = -3.4028234663852886e+38, high = 3.4028234663852886e+38 },
            { name = "delta", doc = "see EMKC", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "usr", doc = "see EMKC", bytes = 4, writer = "sender" },
            { name = "rtt", doc = "smoothed round-trip time, s; 0 before the first measurement", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
        },
    },
    [7] = {
        name = "kelly",
        fields = {
            { name = "price", doc = "sum of the prices of the routers passed", bytes = 4, writer = "router", low = -3.4028234663852886e+38, high = 3.4028234663852886e+38 },
            { name = "seq", doc = "number of finished intervals of the first router; 0 before the first router", bytes = 4, writer = "router" },
        },
    },
    [8] = {
        name = "level",
        fields = {
            { name = "flags", doc = "flags", bytes = 1, writer = "sender", bits = {
                { name = "ack", mask = 128, doc = "an ACK (written by the receiver)" },
                { name = "request", mask = 64, doc = "routers grant the increase spare, or a part of it; in an ACK, spare is the granted increase" },
                { name = "awaits", mask = 32, doc = "the sender awaits the decision on its last request" },
                { name = "request_id", mask = 31, doc = "number of the request, modulo 32" },
            } },
            { name = "hop", doc = "routers passed so far", bytes = 1, writer = "router" },
            { name = "limit", doc = "hop of lowest", bytes = 1, writer = "sender" },
            { name = "new_limit", doc = "hop of new_lowest", bytes = 1, writer = "router" },
            { name = "lowest", doc = "lowest level on the path, from the last ACK, bit/s; the current rate before the first ACK", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "second", doc = "lowest level of the hops other than limit, from the last ACK, bit/s; 3.4e38 without other hops; the current rate before the first ACK", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "new_lowest", doc = "lowest level of the hops passed, bit/s; 3.4e38 before the first router", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "new_second", doc = "lowest level of the hops passed other than new_limit, bit/s; 3.4e38 without other hops", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "proposal", doc = "requested rate, bit/s; the current rate without a request", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "gap", doc = "packet size divided by the rate, s", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "spare", doc = "capacity that all routers passed can grant, bit/s; with request, the increase requested and then granted", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "queued", doc = "queueing delay at the Level routers passed, in units of 64 ns; saturates at all ones", bytes = 3, writer = "router" },
        },
    },
    [9] = {
        name = "sperc",
        fields = {
            { name = "flags", doc = "label and ignore bit at the target hop; bits 4 to 0 are sent as 0 and not changed by routers", bytes = 1, writer = "router", bits = {
                { name = "label", mask = 192, doc = "0: new, 1: unsatisfied, 2: satisfied, 3: finished" },
                { name = "ignore", mask = 32, doc = "other hops ignore the limit of the target hop" },
            } },
            { name = "hop", doc = "routers passed so far", bytes = 1, writer = "router" },
            { name = "target", doc = "hop that this packet updates; 0 for none", bytes = 1, writer = "sender" },
            { name = "epoch", doc = "epoch, modulo 256, in which the target hop last counted the flow", bytes = 1, writer = "router" },
            { name = "allocation", doc = "last allocation of the target hop, bit/s", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "elsewhere", doc = "lowest limit of the other hops, without ignored limits, bit/s; 3.4e38 without other limits", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "limit", doc = "limit of the flow at the target hop, bit/s", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "period", doc = "duration of the previous round, i.e. time between two updates of a hop, s; 0 before the first round; for a finished flow, time since its last round began", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
            { name = "leaving", doc = "for a finished flow, its labels at hops 16 to 1, two bits each; otherwise 0", bytes = 4, writer = "sender" },
            { name = "epochs", doc = "for a finished flow, its epochs at hops 16 to 1, modulo 4, two bits each; otherwise 0", bytes = 4, writer = "sender" },
        },
    },
    [10] = {
        name = "abc",
        fields = {
            { name = "signal", doc = "flags", bytes = 1, writer = "router", bits = {
                { name = "brake", mask = 128, doc = "set if any router on the path signals brake; clear if every router signals accelerate" },
                { name = "seen", mask = 64, doc = "the packet has passed an ABC router" },
            } },
        },
    },
    [11] = {
        name = "slots",
        fields = {
            { name = "rtt", doc = "latest round-trip time of the sender, s; 0 before the first ACK", bytes = 4, writer = "sender", low = 0.0, high = 100.0 },
            { name = "request", doc = "data for which the sender requests a slot, bits; 0 for no request", bytes = 4, writer = "sender", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "grant", doc = "smallest amount of data granted by the routers passed, bits; the request before the first router", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
            { name = "wait", doc = "longest time until a slot of the routers passed starts, s", bytes = 4, writer = "router", low = 0.0, high = 100.0 },
            { name = "rate", doc = "lowest rate of the slots of the routers passed, bit/s; 3.4e38 before the first router", bytes = 4, writer = "router", low = 0.0, high = 3.4028234663852886e+38 },
        },
    },
    -- to here.
}

local sizes = { [1] = "uint8", [2] = "uint16", [3] = "uint24", [4] = "uint32" }

-- Adds "levelflow.NAME.FIELD" for each field of each signalling, and "levelflow.NAME.FIELD.BITS" for its bits.
for _, signalling in pairs(signallings) do
    signalling.length = 0
    for _, row in ipairs(signalling.fields) do
        local abbreviation = "levelflow." .. signalling.name .. "." .. row.name
        if row.low then
            row.field = ProtoField.float(abbreviation, row.name, row.doc)
        else
            local form = row.bits and base.HEX or base.DEC
            row.field = ProtoField[sizes[row.bytes]](abbreviation, row.name, form, nil, nil, row.doc)
        end
        fields[#fields + 1] = row.field
        for _, bits in ipairs(row.bits or {}) do
            local full = abbreviation .. "." .. bits.name
            bits.field = ProtoField[sizes[row.bytes]](full, bits.name, base.DEC, nil, bits.mask, bits.doc)
            fields[#fields + 1] = bits.field
        end
        signalling.length = signalling.length + row.bytes
    end
end

proto.fields = (function()
    local list = {}
    for _, field in pairs(fields) do list[#list + 1] = field end
    return list
end)()
proto.experts = { problems.cut, problems.version, problems.kind, problems.signalling, problems.length, problems.field,
    problems.chain }

local function shown(x)
    if x >= MAX_F32 then return "max" end
    if x <= -MAX_F32 then return "none" end
    return string.format("%.4g", x)
end

-- True if the signalling's decoder accepts the value.
local function allowed(row, value)
    if row.low then return value >= row.low and value <= row.high end
    return not row.only or value == row.only
end

-- Adds the fields of a header; returns its text for the column: values written by routers and receiver.
local function dissect_header(signalling, range, tree)
    local branch = tree:add(proto, range, "Header of " .. signalling.name)
    local values, texts, at, fine = {}, {}, 0, true
    for _, row in ipairs(signalling.fields) do
        local part = range(at, row.bytes)
        local value = row.low and part:float() or part:uint()
        local item = branch:add(row.field, part)
        for _, bits in ipairs(row.bits or {}) do item:add(bits.field, part) end
        if not allowed(row, value) then
            item:add_proto_expert_info(problems.field)
            fine = false
        end
        values[row.name] = value
        if row.writer ~= "sender" then
            local text = row.low and shown(value) or string.format(row.bits and "0x%x" or "%d", value)
            texts[#texts + 1] = row.name .. "=" .. text
        end
        at = at + row.bytes
    end
    if fine and signalling.zero_together and (values[signalling.zero_together[1]] == 0) ~= (values[signalling.zero_together[2]] == 0) then
        branch:add_proto_expert_info(problems.field, table.concat(signalling.zero_together, " and ") .. " are 0 together or not at all")
        fine = false
    end
    return fine and table.concat(texts, " ") or "refused"
end

-- Dissects a shim and its header. Returns true if another shim follows, its offset, and the text for the column.
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
    local signalling = signallings[number]
    local item = branch:add(fields.kind, tvb(at + 4, 1))
    if not kinds[kind] then item:add_proto_expert_info(problems.kind) end
    branch:add(fields.marked, tvb(at + 5, 1))
    branch:add(fields.unacknowledged, tvb(at + 5, 1))
    branch:add(fields.more, tvb(at + 5, 1))
    item = branch:add(fields.signalling, tvb(at + 6, 1))
    -- Laws that only hosts run, such as cubic, have number 0 and no header.
    local name = signalling and signalling.name or (number == 0 and "no signalling" or "unknown signalling")
    item:append_text(" (" .. name .. ")")
    branch:add(fields.signalling_name, tvb(at + 6, 1), name):set_generated()
    if not signalling and number ~= 0 then item:add_proto_expert_info(problems.signalling) end
    item = branch:add(fields.header, tvb(at + 7, 1))
    if length ~= (signalling and signalling.length or (number == 0 and 0 or length)) then
        item:add_proto_expert_info(problems.length)
    end
    branch:add(fields.flow, tvb(at + 8, 4))
    branch:add(fields.number, tvb(at + 12, 4))
    branch:add(fields.time, tvb(at + 16, 8))
    local text = string.format("%s %d flow 0x%08x %s", kinds[kind] or "?", tvb(at + 12, 4):uint(),
        tvb(at + 8, 4):uint(), name)
    if kind == ACK and flags % 2 == 1 then text = text .. " marked" end
    local stop = at + LENGTH + length
    if stop > tvb:len() then
        branch:add_proto_expert_info(problems.cut)
        return nil, tvb:len(), text .. " cut off"
    end
    if signalling and signalling.length == length then
        text = text .. " " .. dissect_header(signalling, tvb(at + LENGTH, length), tree)
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
