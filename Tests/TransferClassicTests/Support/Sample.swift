import TransferClassic

/// A conversation for each framing with all that the framing has.
enum Sample {
    static let all: [(framing: ClassicFraming, bytes: [UInt8])] = [
        (.sized(total: .whole, isAnswered: true), sized), (.sized(total: .content, isAnswered: true), sizedByContent),
        (.text, texts), (.jsonline, jsonline), (.header7, header7), (.tagged37, tagged37),
    ]

    private static let sized =
        Wire.sized(1, Array("hello".utf8)) + Wire.sized(3, [0x89, 0x50, 0x4E, 0x47]) + Wire.sized(2, [])
        + Wire.sized(4, Array("geo:48.2,16.3".utf8))

    private static let sizedByContent = Wire.sized(5, 1, Array("hello".utf8)) + Wire.sized(0, 3) + Wire.sized(1, 2, [7])

    private static let texts =
        Wire.text("Hi, 你好") + Wire.text("") + Wire.text(String(repeating: "x", count: 1024))
        + Wire.text("exits") + Wire.text("exit") + Wire.text("more")

    private static let jsonline =
        Wire.jsonline(Wire.head("heartA", "alice", "", "0"))
        + Wire.jsonline(Wire.head("txt", "alice", "bob", "4"), [1, 13, 10, 2])
        + Wire.jsonline(Wire.head("heartB", "alice", "", "3"), Array("♥".utf8))
        + Wire.jsonline("{\"type\":\"heart\"}")
        + Wire.jsonline("{\"size\":2,\"ClientID\":\"alice\",\"targetID\":\"小明\",\"type\":\"img\"}", [0xFF, 0xD8])

    static let messages: [(function: UInt16, json: String)] = [
        (3, "{}"), (3, "{\"id\":7}"), (4, "{}"),
        (16, "{\"id\":1,\"name\":\"a😀.png\",\"kind\":\"picture\",\"size\":5}"),
        (18, "{\"id\":1,\"data\":\"aGVs\"}"), (18, "{ \"id\" : 1, \"data\" : \"\" }"), (3, "{}"),
        (18, "{\"data\":\"bG8=\",\"id\":1,\"more\":[{},\"}]\\\"\"]}"),
        (20, "{\"id\":1,\"size\":5,\"sha256\":\"\(sha256)\"}"), (16, "{\"id\":9007199254740992}"),
        (21, "{\"id\":9007199254740992,\"reason\":\"no\"}"), (64, "{\"id\":2,\"text\":\"Grüße, 你好 😀\"}"),
        (64, "{\"id\":3,\"text\":\"\"}"), (5, "{}"),
    ]

    /// The digest of the content `hello`.
    static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

    private static let header7 = messages.flatMap { Wire.header7($0.function, $0.json) } + Wire.header7(5, [])

    /// The messages with a heartbeat of 15 bytes between them, and lengths of both kinds.
    private static let tagged37 = messages.enumerated().flatMap { index, message in
        Array("保持连接吗".utf8)
            + Wire.tagged37(Int(message.function), message.json, counting: index.isMultiple(of: 2) ? .units : .bytes)
    }
}
