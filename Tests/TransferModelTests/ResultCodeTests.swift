import Testing
import TransferModel

@Suite struct ResultCodeTests {
    struct Row: Sendable {
        let number: UInt16
        let name: String
        let `class`: ResultCode.Class
        let isRetryable: Bool
        let exitCode: Int32

        init(_ number: UInt16, _ name: String, _ class: ResultCode.Class, retry: Bool = false, exit: Int32) {
            self.number = number
            self.name = name
            self.class = `class`
            isRetryable = retry
            exitCode = exit
        }
    }

    /// Numbers and names are fixed for ever: a row may be added here, none may change.
    static let rows = [
        Row(1, "committed", .success, exit: 0), Row(2, "alreadyStored", .success, exit: 0),
        Row(3, "skipped", .success, exit: 0), Row(4, "staged", .success, exit: 0),
        Row(5, "completed", .success, exit: 0), Row(6, "stored", .success, exit: 0),
        Row(100, "malformedFrame", .protocol, exit: 5), Row(101, "unsupportedVersion", .protocol, exit: 5),
        Row(102, "unsupportedFunction", .protocol, exit: 5), Row(103, "frameTooLarge", .protocol, exit: 5),
        Row(104, "unexpectedFrame", .protocol, exit: 5),
        Row(105, "corruptCompression", .protocol, retry: true, exit: 5),
        Row(106, "damagedFrame", .protocol, retry: true, exit: 5),
        Row(200, "authenticationRequired", .access, exit: 4), Row(201, "authenticationFailed", .access, exit: 4),
        Row(202, "forbidden", .access, exit: 4), Row(203, "encryptionRequired", .access, exit: 4),
        Row(300, "invalidPath", .request, exit: 1), Row(301, "pathConflict", .request, exit: 1),
        Row(302, "uploadTooLarge", .request, exit: 1), Row(303, "unsupportedDigest", .request, exit: 1),
        Row(304, "aborted", .request, exit: 1), Row(305, "notFound", .request, exit: 1),
        Row(306, "wrongForm", .request, exit: 1),
        Row(307, "unknownRecipient", .request, exit: 1),
        Row(400, "sizeMismatch", .content, exit: 1), Row(401, "digestMismatch", .content, retry: true, exit: 1),
        Row(402, "contentMismatch", .content, exit: 1), Row(403, "incomplete", .content, retry: true, exit: 1),
        Row(404, "fileChanged", .content, retry: true, exit: 1),
        Row(500, "insufficientStorage", .server, exit: 1), Row(501, "quotaExceeded", .server, exit: 1),
        Row(502, "storageFailed", .server, exit: 1), Row(503, "busy", .server, retry: true, exit: 1),
        Row(504, "shuttingDown", .server, retry: true, exit: 1), Row(505, "timedOut", .server, retry: true, exit: 1),
        Row(506, "contentLost", .server, exit: 1),
        Row(600, "sourceChanged", .client, exit: 1), Row(601, "sourceUnreadable", .client, exit: 1),
        Row(602, "sourceSkipped", .client, exit: 1), Row(603, "connectionLost", .client, exit: 1),
        Row(604, "cancelled", .client, exit: 1),
        Row(605, "badReceipt", .client, exit: 1), Row(606, "targetFailed", .client, exit: 1),
        Row(607, "unacknowledged", .client, exit: 6), Row(608, "unsuitable", .client, exit: 1),
        Row(609, "unopened", .client, exit: 1), Row(610, "wrongSigner", .client, exit: 1),
    ]

    @Test(arguments: rows) func row(_ row: Row) {
        let code = ResultCode(rawValue: row.number)
        #expect(code.name == row.name)
        #expect(code.description == row.name)
        #expect(code.class == row.class)
        #expect(code.isRetryable == row.isRetryable)
        #expect(code.exitCode == row.exitCode)
        #expect(code.isSuccess == (row.class == .success))
    }

    @Test func theTableIsWholeAndInOrder() {
        #expect(ResultCode.all.map(\.code.rawValue) == Self.rows.map(\.number))
        #expect(ResultCode.all.map(\.name) == Self.rows.map(\.name))
    }

    @Test func numbersAndNamesAreUnique() {
        #expect(Set(ResultCode.all.map(\.code)).count == ResultCode.all.count)
        #expect(Set(ResultCode.all.map(\.name)).count == ResultCode.all.count)
    }

    @Test(
        arguments: [
            (0, .server, 1), (99, .success, 0), (199, .protocol, 5), (299, .access, 4), (399, .request, 1),
            (499, .content, 1),
            (599, .server, 1), (699, .client, 1), (700, .server, 1), (.max, .server, 1),
        ] as [(UInt16, ResultCode.Class, Int32)])
    func unknownCodesCountByTheirClass(_ number: UInt16, class: ResultCode.Class, exitCode: Int32) {
        let code = ResultCode(rawValue: number)
        #expect(code.name == "result\(number)")
        #expect(code.class == `class`)
        #expect(code.exitCode == exitCode)
        #expect(!code.isRetryable)
    }
}
