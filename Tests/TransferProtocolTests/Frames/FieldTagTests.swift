import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct FieldTagTests {
    @Test(arguments: [(0, false), (1, false), (0x7F, false), (0x80, true), (0xFF, true)] as [(UInt8, Bool)])
    func upperHalfIsCritical(_ number: UInt8, isCritical: Bool) {
        #expect(FieldTag(rawValue: number).isCritical == isCritical)
    }

    @Test func emptyTextTakesNoBytes() {
        var bytes: [UInt8] = []
        bytes.append(field: .message, text: "")
        #expect(bytes.isEmpty)
        bytes.append(field: .message, text: "é")
        #expect(bytes == [3, 0, 2, 0xC3, 0xA9])
    }

    @Test func longTextIsCutWhenWrittenAndWhenRead() throws {
        let long = String(repeating: "x", count: Limits.text + 1)
        var bytes: [UInt8] = []
        bytes.append(field: .agent, text: long)
        #expect(bytes.count == 3 + Limits.text)
        var fields = MessageFields()
        try fields.add(.agent, Array(long.utf8))
        #expect(fields.text(.agent) == String(repeating: "x", count: Limits.text))
        #expect(fields.text(.message) == "")
    }

    @Test func brokenTextIsRepaired() throws {
        var fields = MessageFields()
        try fields.add(.message, [0x61, 0xFF, 0x62, 0xC3])
        #expect(fields.text(.message) == "a\u{FFFD}b\u{FFFD}")
    }
}
