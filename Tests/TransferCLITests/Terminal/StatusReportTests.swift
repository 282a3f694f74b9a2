import Testing
import TransferModel

@testable import TransferCLI

/// The output of `transfer status` for an answer.
@Suite struct StatusReportTests {
    private static func lines(_ adoption: JSONNode?) throws -> [Substring] {
        var members: [(key: String, value: JSONNode)] = [("schema", .string("transfer.status/2"))]
        if let adoption { members.append(("adoption", adoption)) }
        return try #require(StatusReport(.object(members))).text.split(separator: "\n")
    }

    private static func adoption(_ changes: [String: JSONNode]) -> JSONNode {
        let usual: [(key: String, value: JSONNode)] = [
            ("paths", .number("18230")), ("compared", .number("1280")), ("adopted", .number("1270")),
            ("mismatched", .number("0")), ("unreadable", .number("0")), ("bytes", .number("84000000000")),
            ("waiting", .bool(false)),
        ]
        return .object(usual.map { ($0.key, changes[$0.key] ?? $0.value) })
    }

    @Test func aCopiedDirectory() throws {
        let start = "adopting     1280 of 18230 paths of a copied directory compared with what was acknowledged; "
        #expect(try Self.lines(Self.adoption([:])).contains("\(start)1270 files known again, 84.0 GB read"))
        let worse = Self.adoption(["mismatched": .number("2"), "unreadable": .number("1"), "waiting": .bool(true)])
        #expect(
            try Self.lines(worse).contains(
                "\(start)1270 files known again, 84.0 GB read; 2 not what was acknowledged; 1 cannot be read; waiting, "
                    + "because the disk or the catalog fails"))
        let uncounted = try Self.lines(Self.adoption(["paths": .null]))
        #expect(uncounted.contains { $0.hasPrefix("adopting     1280 paths of a copied directory") })
    }

    /// A server that does not know copied directories omits the value.
    @Test(arguments: [nil, .null] as [JSONNode?]) func anyOtherDirectory(_ adoption: JSONNode?) throws {
        #expect(try !Self.lines(adoption).contains { $0.hasPrefix("adopting") })
    }
}
