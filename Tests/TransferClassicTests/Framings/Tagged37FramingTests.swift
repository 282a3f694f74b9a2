import Testing
import TransferClassic
import TransferModel

@Suite struct Tagged37FramingTests {
    private static let wrong: [([UInt8], String)] = [
        (Wire.header37("00000039", "00000003", padding: "00000000000000001"), "malformedFrame"),
        (Wire.header37("0000 039", "00000003"), "malformedFrame"),
        (Wire.header37("-0000039", "00000003"), "malformedFrame"),
        (Wire.header37("00000039", "000000-3"), "malformedFrame"),
        (Wire.header37("00000037", "00000003"), "malformedFrame"),
        (Wire.header37("00000000", "00000003"), "malformedFrame"),
        (Wire.header37("00131110", "00000003"), "frameTooLarge"),
        (Wire.header37("99999999", "00000003"), "frameTooLarge"),
        (Wire.header37("00000039", "00000099"), "unsupportedFunction"),
        (Wire.header37("00000039", "99999999"), "unsupportedFunction"),
        (Wire.header37("00000039", "00065539"), "unsupportedFunction"),
        (Wire.header37("00000039", "00000003") + [UInt8]("[]"), "malformedFrame"),
        (Wire.header37("00000039", "00000003") + [UInt8]("}{"), "malformedFrame"),
        (Wire.header37("00000039", "00000003") + [UInt8]("{]"), "malformedFrame"),
        (Wire.header37("00000039", "00000003") + [UInt8]("hi"), "malformedFrame"),
        (Wire.header37("00000039", "00000003") + [UInt8]("{ }"), "malformedFrame"),
        (Wire.header37("00000040", "00000003") + [UInt8]("{\"V0.1"), "malformedFrame"),
        (Wire.header37("00010000", "00000003") + [UInt8](repeating: 0x20, count: 10_000), "malformedFrame"),
    ]

    private static let text = "{\n  \"id\" : 1,\n  \"text\" : \"Grüße, 你好 😀\"\n}"
    private static let heard: [Heard] = [
        .begin(ClassicUpload(number: 1, kind: .text, size: 20)), .content(Array("Grüße, 你好 😀".utf8)),
        .end(ClassicEnd(size: 20)),
    ]

    @Test(arguments: [Wire.Count.bytes, .units]) func eitherLength(_ count: Wire.Count) {
        #expect(Listener.heard(Wire.tagged37(64, Self.text, counting: count), .tagged37) == Self.heard)
        #expect(Self.text.utf16.count != Self.text.utf8.count)
    }

    @Test(arguments: -12...12) func noOtherLength(_ difference: Int) {
        let (bytes, units) = (Self.text.utf8.count, Self.text.utf16.count)
        let length = units + difference
        let message = Wire.header37("\(length + 37)", "64") + Array(Self.text.utf8)
        let heard = Listener.heard(message, .tagged37)
        if length == units || length == bytes {
            #expect(heard == Self.heard)
        } else {
            #expect(faultCode(heard) == "malformedFrame")
        }
        #expect(Listener.heard(message, .tagged37, cutAt: Array(message.indices)) == heard)
    }

    @Test(arguments: wrong) func faults(_ bytes: [UInt8], _ code: String) {
        let heard = Listener.heard(bytes, .tagged37)
        #expect(faultCode(heard) == code && heard.count == 1)
        for cut in bytes.indices.prefix(50) { #expect(Listener.heard(bytes, .tagged37, cutAt: [cut]) == heard) }
    }

    @Test func depth() {
        func message(_ depth: Int) -> [Heard] {
            let lists = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return Listener.heard(Wire.tagged37(5, "{\"x\":\(lists)}"), .tagged37)
        }
        #expect(message(16) == [.close])
        #expect(faultCode(message(17)) == "malformedFrame")
        #expect(faultCode(message(50_000)) == "malformedFrame")
    }

    @Test func jsonThatDoesNotEnd() {
        let header = Wire.header37("00131109", "00000064")
        let endless = [UInt8]("{\"") + [UInt8](repeating: 0xC3, count: 200_000)
        #expect(faultCode(Listener.heard(header + endless, .tagged37)) == "frameTooLarge")
        let short = Wire.header37("00001037", "00000064")
        #expect(faultCode(Listener.heard(short + endless, .tagged37)) == "malformedFrame")
        let continued = [UInt8]("{\"") + [UInt8](repeating: 0x80, count: 200_000)
        #expect(faultCode(Listener.heard(header + continued, .tagged37)) == "frameTooLarge")
        var listener = Listener(.tagged37)
        listener.hear(header + endless.prefix(100_000))
        #expect(listener.heard.isEmpty && !listener.isBetweenMessages)
    }

    @Test func anythingBetweenMessagesIsSkipped() {
        let noises: [[UInt8]] = [
            [], Array("保持连接吗".utf8), [UInt8]("V"), [UInt8]("V0"), [UInt8]("V0."), [UInt8]("VV0VV0.VV0.0"),
            [0, 0xFF, 10],
            Array(String(repeating: "保持连接吗", count: 100).utf8),
        ]
        for noise in noises {
            let bytes = noise + Wire.tagged37(64, Self.text) + noise
            #expect(Listener.heard(bytes, .tagged37) == Self.heard)
            for cut in bytes.indices.prefix(120) {
                #expect(Listener.heard(bytes, .tagged37, cutAt: [cut]) == Self.heard)
            }
        }
    }

    /// A megabyte of noise in a row is accepted, however it arrives; a message starts the count again.
    @Test(arguments: [1_000, 65_536, 3 << 20]) func noiseIsBounded(_ piece: Int) {
        func code(_ count: Int) -> String? {
            let noise = [UInt8](repeating: 0x2E, count: count)
            let bytes = Wire.tagged37(4, "{}") + noise + Wire.tagged37(4, "{}") + noise
            return faultCode(
                Listener.heard(bytes, .tagged37, cutAt: Array(stride(from: 0, to: bytes.count, by: piece))))
        }
        #expect(code(1 << 20) == nil)
        #expect(code(1 << 20 + 1) == "malformedFrame")
    }
}
