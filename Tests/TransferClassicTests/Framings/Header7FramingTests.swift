import Testing
import TransferClassic
import TransferModel
import TransferTestSupport

@Suite struct Header7FramingTests {
    private static let wrong: [([UInt8], String)] = [
        (Wire.header7(3, [], version: 2), "unsupportedVersion"),
        (Wire.header7(3, [], version: 0), "unsupportedVersion"),
        (Wire.header7(0, []), "unsupportedFunction"), (Wire.header7(17, []), "unsupportedFunction"),
        (Wire.header7(65_535, []), "unsupportedFunction"), (Wire.header7(3, [], flag: 2), "malformedFrame"),
        (Wire.header7(16, []), "malformedFrame"), (Wire.header7(16, "[]"), "malformedFrame"),
        (Wire.header7(16, "{\"id\":1"), "malformedFrame"), (Wire.header7(16, "{\"id\":1}x"), "malformedFrame"),
        (Wire.header7(16, [0x7B, 0x22, 0xC3, 0x28, 0x22, 0x3A, 0x31, 0x7D]), "malformedFrame"),
        (Wire.header7(16, String(repeating: "[", count: 60_000)), "malformedFrame"),
        (Wire.header7(3, [], flag: 1), "corruptCompression"),
        (Wire.header7(3, [0x78, 0x9C], flag: 1), "corruptCompression"),
        (Wire.header7(3, [UInt8]("hello"), flag: 1), "corruptCompression"),
    ]

    private static func compressed(_ function: MessageFunction, _ object: JSONLine) throws -> [UInt8] {
        try #require(Header7Framing.encodeCompressed(function, object))
    }

    @Test(arguments: wrong) func faults(_ bytes: [UInt8], _ code: String) {
        let heard = Listener.heard(bytes, .header7)
        #expect(faultCode(heard) == code && heard.count == 1)
        #expect(Listener.heard(bytes, .header7, cutAt: Array(bytes.indices.prefix(100))) == heard)
    }

    /// A wrong header is refused before its body arrives.
    @Test func faultsComeEarly() {
        var listener = Listener(.header7)
        listener.hear([0, 1, 0, 99, 0, 0xFF, 0xFF])
        #expect(faultCode(listener.heard) == "unsupportedFunction")
    }

    @Test func compressedBodies() throws {
        let bytes = try Self.compressed(.begin, ["id": 1]) + Self.compressed(.ping, [:])
        #expect(
            Listener.heard(bytes, .header7) == [.begin(ClassicUpload(number: 1)), .reply(Wire.header7(4, "{}"))])
        for cut in bytes.indices {
            #expect(Listener.heard(bytes, .header7, cutAt: [cut]) == Listener.heard(bytes, .header7))
        }
    }

    /// Bodies that are damaged, cut short, or followed by another byte.
    @Test func streamsThatAreNotWhole() throws {
        let body = Array(try Self.compressed(.text, ["id": 1, "text": "Hello, hello, hello."]).dropFirst(7))
        for count in body.indices {
            let heard = Listener.heard(Wire.header7(64, Array(body[..<count]), flag: 1), .header7)
            #expect(faultCode(heard) == "corruptCompression")
        }
        #expect(faultCode(Listener.heard(Wire.header7(64, body + [0], flag: 1), .header7)) == "corruptCompression")
        var damaged = body
        damaged[body.count - 1] ^= 1
        #expect(faultCode(Listener.heard(Wire.header7(64, damaged, flag: 1), .header7)) == "corruptCompression")
    }

    @Test func bodiesThatInflateToMoreThan128KiB() throws {
        func text(_ count: Int) throws -> [Heard] {
            let text = JSONValue.string(String(repeating: "x", count: count - 18))
            return Listener.heard(try Self.compressed(.text, ["id": 1, "text": text]), .header7)
        }
        #expect(JSONLine(dictionaryLiteral: ("id", 1), ("text", "")).text.utf8.count == 18)
        #expect(try text(128 << 10).count == 3)
        #expect(faultCode(try text(128 << 10 + 1)) == "frameTooLarge")
        #expect(faultCode(try text(4 << 20)) == "frameTooLarge")
    }

    /// 5 MB that cannot be compressed, in chunks of 48 KiB. The base64 digits of the chunks can be compressed.
    @Test func aPictureInCompressedBodies() throws {
        let picture = SplitMix64.bytes(seed: 5, 5_000_000)
        let size = UInt64(picture.count)
        var listener = Listener(.header7)
        listener.hear(
            try Self.compressed(.begin, ["id": 1, "name": "a.png", "kind": "picture", "size": .integer(size)]))
        for start in stride(from: 0, to: picture.count, by: 48 << 10) {
            let piece = Array(picture[start..<min(picture.count, start + 48 << 10)])
            let request = MessageRequest.chunk(id: 1, content: piece)
            let bytes = try Self.compressed(request.function, request.object)
            let cut = start % bytes.count
            listener.hear(bytes[..<cut])
            listener.hear(bytes[cut...])
        }
        listener.hear(try Self.compressed(.end, ["id": 1, "size": .integer(size)]))
        #expect(listener.heard.count == 3)
        #expect(
            listener.heard.first
                == .begin(ClassicUpload(number: 1, name: [UInt8]("a.png"), kind: .picture, size: size)))
        let isSame = listener.heard.dropFirst().first == .content(picture)
        #expect(isSame)
        #expect(listener.heard.last == .end(ClassicEnd(size: size)))
    }
}
