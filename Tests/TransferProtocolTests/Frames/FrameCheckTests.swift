import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct FrameCheckTests {
    /// The check value of the catalogue of parametrised CRC algorithms, and one of RFC 3720, appendix B.4.
    @Test func valuesAreThoseOfTheStandard() {
        #expect(value(Array("123456789".utf8)) == 0xE306_9283)
        #expect(value([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(value([]) == 0)
    }

    /// The code processes many bytes at once, with equal results for all starts and lengths.
    @Test func everyLengthIsTheSameAsBitByBit() {
        let bytes = (0..<80).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) }
        for start in 0..<9 {
            for end in start...bytes.count {
                #expect(value(Array(bytes[start..<end])) == Self.bitByBit(bytes[start..<end]), "\(start)..<\(end)")
                bytes.withUnsafeBytes {
                    let part = UnsafeRawBufferPointer(rebasing: $0[start..<end])
                    #expect(FrameCheck.value(part) == Self.bitByBit(bytes[start..<end]), "\(start)..<\(end)")
                }
            }
        }
    }

    private static func bitByBit(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(.max) { word, byte in
            (0..<8).reduce(word ^ UInt32(byte)) { word, _ in word >> 1 ^ (word & 1 == 0 ? 0 : 0x82F6_3B78) }
        }
    }

    private func value(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { FrameCheck.value($0) } }

    private static let checked = [
        Message.begin(Sample.begin),
        .result(UploadResult(id: Sample.id, code: .committed, size: 5, digest: Sample.xxh128, storedPath: "a/b")),
    ]

    /// A flipped bit never turns a message into another one.
    @Test(arguments: checked + [.lookup(Lookup([Sample.id], digest: .xxh128)), .unknown([Sample.id])])
    func noBitChangesUnnoticed(_ message: Message) {
        for bit in 0..<message.checkedBody.count * 8 {
            var body = message.checkedBody
            body[bit / 8] ^= 1 << (bit % 8)
            #expect(decoded(message.function, body).map { $0 == message } ?? true, "bit \(bit)")
        }
    }

    @Test(arguments: checked) func aDamagedPathIsNoticed(_ message: Message) throws {
        var body = message.checkedBody
        let slash = try #require(body.lastIndex(of: UInt8(ascii: "/")))
        body[slash + 1] ^= 1
        #expect(throws: ProtocolFault.damaged) { try Message.decode(message.function, body: body) }
    }

    @Test func theCheckIsTheEnd() {
        for message in Self.checked {
            #expect(fault(message.function, message.checkedBody + [0x7F, 0, 0]) == .malformedFrame)
        }
    }

    @Test func theCheckHasFourBytes() {
        var body = Message.begin(Sample.begin).checkedBody.dropLast(FrameCheck.size + 2)
        body += [0, 3, 1, 2, 3]
        #expect(fault(.begin, Array(body)) == .malformedFrame)
    }

    @Test func whatHasNoneIsNotTaken() {
        for message in Self.checked {
            #expect(throws: ProtocolFault.unchecked) { try Message.decode(message.function, body: message.body) }
        }
    }

    /// Most of the message is lost, and the zeros of the frames behind it look like empty fields.
    @Test func aCheckThatIsLostIsMissed() {
        let result = UploadResult(
            id: Sample.id, code: .alreadyStored, size: 1, digest: Sample.xxh128, storedPath: "abcdefgh")
        let body = Message.result(result).checkedBody
        let kept = body.prefix { $0 != UInt8(ascii: "a") }.dropLast()
        let damaged = kept + [UInt8](repeating: 0, count: body.count - kept.count - (body.count - kept.count - 1) % 3)
        #expect(throws: ProtocolFault.unchecked) { try Message.decode(.result, body: Array(damaged)) }
    }

    /// Every message with optional fields may carry a check.
    @Test func othersAreComparedToo() {
        let body = Message.hello(Hello(agent: "x")).body
        var checked = body
        checked.appendCheck(from: 0)
        #expect(decoded(.hello, checked) == .hello(Hello(agent: "x")))
        checked[0] ^= 1
        #expect(fault(.hello, checked) == .damagedFrame)
    }

    private func decoded(_ function: FunctionCode, _ body: [UInt8]) -> Message? {
        try? Message.decode(function, body: body)
    }

    private func fault(_ function: FunctionCode, _ body: [UInt8]) -> ResultCode? {
        do throws(ProtocolFault) {
            _ = try Message.decode(function, body: body)
            return nil
        } catch {
            return error.code
        }
    }
}
