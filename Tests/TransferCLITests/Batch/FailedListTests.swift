import Testing
import TransferClient
import TransferModel
import TransferTestSupport

@testable import TransferCLI

@Suite struct FailedListTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    /// Of two names that are equal strings, each that failed is listed, below a folder that is another's equal, too.
    @Test func namesThatLookAlikeAreTwo() throws {
        let list = try FailedList(home.path("failed"), .paths(end: 0), folder: "e\u{301}")
        for name in ["\u{E9}", "e\u{301}", "\u{E9}"] {
            var report = UploadReport.unusable(Array(home.path(name).utf8))
            report.isPath = true
            report.destination = "e\u{301}/\(name)"
            list.settle(report, hasFailed: true)
        }
        try list.write()
        let lines = try readFile(home.path("failed")).split(separator: 0).map { Array($0) }
        #expect(lines == ["\u{E9}", "e\u{301}"].map { Array("\(home.path)/./\($0)".utf8) })
    }
}
