import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct HealingRaceTests {
    /// Another process replaces the file just after its lost content was read to the end.
    @Test(arguments: [false, true]) func aFileThatTookItsPlaceStays(isReplaced: Bool) throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.path("store")
        let isArmed = Locked(false)
        let disk = Disk(interception: { call, body in
            let result = body()
            if case .read = call, result == 0, isArmed.withLock({ $0 }) { rename(path + "/other", path + "/a") }
            return result
        })
        let store = try FileStore(path: path, durability: .none, fileSystem: nil, disk: disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        try fixture.publish("a", .one)
        try fixture.publish("other", .six)
        let publication = try fixture.publication("a", .two)
        isArmed.withLock { $0 = isReplaced }
        let outcome = store.publish([publication], acknowledged: { _, _ in publication.digest }).outcomes[0]
        isArmed.withLock { $0 = false }
        #expect(try outcome.get().withoutIdentity == (isReplaced ? .committed("a-1") : .healed(RelativePath("a"), nil)))
        #expect(Files.read(fixture.path("a")) == (isReplaced ? .six : .two))
    }
}
