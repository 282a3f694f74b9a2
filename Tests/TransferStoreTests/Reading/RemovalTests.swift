import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite struct RemovalTests {
    private let temporary: TemporaryDirectory
    private let fixture: StoreFixture

    init() throws {
        temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 1000))
        fixture = StoreFixture(temporary: temporary, store: store, name: "store")
    }

    @Test func whatIsRemovedIsGivenBack() throws {
        try fixture.publish("a", .six)
        #expect(fixture.store.space?.used == 6)
        let remover = fixture.store.remover()
        try remover.commit([remover.begin(try RelativePath("a"), isRecursive: false)])
        #expect(fixture.store.space?.used == 0 && fixture.visible.isEmpty)
    }

    /// It may hold more than somebody knows of.
    @Test func aFolderGoesOnlyWhenThatIsWanted() throws {
        try fixture.publish("folder/a", .six)
        let remover = fixture.store.remover()
        let path = try RelativePath("folder")
        let error = #expect(throws: StoreError.self) { _ = try remover.begin(path, isRecursive: false) }
        #expect(error?.code == .wrongForm && Files.read(fixture.path("folder/a")) == .six)
        let removal = try remover.begin(path, isRecursive: true)
        while try !removal.step(10) {}
        #expect(fixture.visible.isEmpty)
    }
}
