import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct MarkedSourceTests {
    /// Between the look before the server is asked, and its answer.
    @Test(arguments: [false, true]) func aSourceThatChangesMeanwhileStays(changes: Bool) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a")
        try Files.write(path, "x")
        var report = UploadReport(
            source: path, uploadID: .random(), result: .committed, kind: .file, size: 1, message: "")
        (report.isDurable, report.isRead, report.storedPath) = (true, true, "a")
        report.digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        report.file = try SourceFile(path: path, followsLinks: false).identity
        var directories = SourceDirectories(swept: SweptDirectories())
        let source = try MarkedSource(report, mayHaveReplaced: false, &directories)
        if changes { try Files.write(path, "changed") }
        let absent = StatReport(path: source.witnessPath, entry: nil, result: .notFound, message: "")
        if changes {
            #expect(throws: SourceKept.self) { try source.remove(absent) }
        } else {
            try source.remove(absent)
        }
        #expect(Files.tree(directory.path) == (changes ? ["a"] : []))
    }
}
