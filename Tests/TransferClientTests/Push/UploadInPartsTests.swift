import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Behaviour that all uploads in parts share.
@Suite struct UploadInPartsTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let split: SplitUpload

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("long")
        try Files.write(path, [UInt8](repeating: 1, count: 3 * Limits.blockSize))
        let whole = PendingUpload(.bytes([]), label: "long", destination: "long", kind: .file)
        let file = try SourceFile(SourcePlace(named: path, followsLink: true)).identity
        split = SplitUpload(whole, .file(file, SourcePlace(named: path, followsLink: true)), function: .xxh128)
    }

    @Test func onlyTheFirstEndIsReported() {
        let parts = (0..<2).map { _ in
            PendingUpload(.part(split, 0..<UInt64(Limits.blockSize)), of: split.whole)
        }
        #expect(parts[0].takeReported() === split.whole)
        #expect(parts[1].takeReported() == nil)
        #expect(split.isOver && !split.finish())
    }

    /// Earlier parts had the old content.
    @Test func aFileThatHasChangedGivesNoMoreParts() throws {
        let range = 0..<UInt64(Limits.blockSize)
        _ = try split.reader(of: range)
        try Files.write(path, [UInt8](repeating: 2, count: 3 * Limits.blockSize + 1))
        #expect(throws: Failure.self) { _ = try split.reader(of: range) }
        #expect(throws: Failure.self) { _ = try split.readerOfEnd() }
    }
}
