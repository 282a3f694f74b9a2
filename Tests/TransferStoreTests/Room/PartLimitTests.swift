import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The limit on the number of unfinished uploads in a store.
@Suite struct PartLimitTests {
    private let directory: TemporaryDirectory
    private let store: FileStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"))
    }

    private var count: Int { store.incoming.parts.load(ordering: .relaxed) }

    @Test func aNewOneTooManyIsRefused() throws {
        let old = UploadID.random()
        _ = try store.resume(id: old, size: nil)
        store.incoming.parts.store(UnfinishedContent.mostParts, ordering: .relaxed)
        _ = try store.resume(id: old, size: nil)
        let error = #expect(throws: Failure.self) { try store.resume(id: .random(), size: nil) }
        #expect(error?.code == .busy)
        #expect(names(in: directory.path("store/.transfer/incoming")).count == 1)
    }

    @Test func everyEndCounts() throws {
        let ids = (0..<3).map { _ in UploadID.random() }
        let parts = try ids.map { try store.resume(id: $0, size: nil) }
        #expect(count == 3)
        parts[0].discard()
        #expect(count == 2)
        try parts[1].giveName("published", in: store.tree.root)
        #expect(count == 1)
        try parts[2].replace(in: store.tree.root, name: "published", id: ids[2])
        #expect(count == 0)
    }

    @Test func thoseOfEarlierServersCount() throws {
        for _ in 0..<4 { _ = try store.resume(id: .random(), size: nil) }
        store.unlock()
        let next = try FileStore(path: directory.path("store"))
        #expect(next.incoming.parts.load(ordering: .relaxed) == 4)
        _ = try next.removeUnfinished(where: { _ in true }, unless: { _ in false })
        #expect(next.incoming.parts.load(ordering: .relaxed) == 0)
    }
}
