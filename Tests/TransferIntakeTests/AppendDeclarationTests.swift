import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// The next server reads the declaration of a growing upload unchanged, whatever its path is.
@Suite struct AppendDeclarationTests {
    @Test(arguments: OddNames.paths, [nil, UInt64.max])
    func comesBack(_ path: String, total: UInt64?) throws {
        let append = UploadAppend(
            at: 0, total: total, ending: .never, isNew: true, note: Array("metadata \(path)".utf8))
        let intent = UploadIntent(
            id: .random(), path: path, size: 1, kind: .picture, conflict: .overwrite,
            modified: total.map { _ in Timestamp(seconds: .min, nanoseconds: 999_999_999) },
            permissions: total.map { _ in 0o640 }, extent: .append(append))
        let declaration = AppendDeclaration(intent, append, begun: .min)
        let again = try #require(AppendDeclaration(declaration.bytes))
        #expect(again == declaration && again.path.hasSameBytes(as: path))
        for count in 0..<declaration.bytes.count where count < 64 || count.isMultiple(of: 97) {
            #expect(AppendDeclaration(Array(declaration.bytes.prefix(count))) == nil)
        }
        // The file of an upload in progress has room for the declaration beside its bytes.
        let directory = try TemporaryDirectory()
        let store = try FileStore(path: directory.path("store"))
        let id = UploadID.random()
        let file = try store.makeAppendable(id: id, size: nil, declaration: declaration.bytes)
        try file.keep(AppendMark())
        #expect(try store.appendable(id: id)?.declaration == declaration.bytes)
    }
}
