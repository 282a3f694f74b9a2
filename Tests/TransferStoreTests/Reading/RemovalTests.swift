import Glibc
import Testing
import TransferPorts
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
        _ = try remover.begin(try RelativePath("a"), isRecursive: false, of: nil)
        try remover.commit()
        #expect(fixture.store.space?.used == 0 && fixture.visible.isEmpty)
    }

    /// The folder may contain more files than the client knows.
    @Test func aFolderGoesOnlyWhenThatIsWanted() throws {
        try fixture.publish("folder/a", .six)
        let remover = fixture.store.remover()
        let path = try RelativePath("folder")
        let error = #expect(throws: Failure.self) { _ = try remover.begin(path, isRecursive: false, of: nil) }
        #expect(error?.code == .wrongForm && Files.read(fixture.path("folder/a")) == .six)
        let removal = try remover.begin(path, isRecursive: true, of: nil)
        while try !removal.step(10) {}
        #expect(fixture.visible.isEmpty)
    }

    /// A path may have 2,048 folders, and all clients share the descriptors.
    @Test func aDeepFolderHoldsFewDescriptors() throws {
        let deep = try makeDeep(120)
        let removal = try fixture.store.remover().begin(try RelativePath("d"), isRecursive: true, of: nil)
        let before = descriptors
        var most = 0
        while try !removal.step(1) { most = max(most, descriptors) }
        #expect(most - before < 2 * Removal.mostOpened && most > before)
        #expect(fixture.visible.isEmpty && removal.takeRemoved().count == deep)
    }

    /// The parent is opened again by path after its children are removed: by then the path may belong to another
    /// folder.
    @Test func aFolderThatTakesThePathOfOneThatIsRemovedStays() throws {
        _ = try makeDeep(60)
        let removal = try fixture.store.remover().begin(try RelativePath("d"), isRecursive: true, of: nil)
        while Files.status(fixture.path(Self.deepest(60))) != nil { _ = try removal.step(1) }
        #expect(rename(fixture.path("d"), fixture.path("e")) == 0)
        try fixture.publish("d/d/f", .one)
        let error = #expect(throws: Failure.self) { while try !removal.step(1) {} }
        #expect(error?.code == .busy && fixture.visible.contains("d/d/f"))
    }

    /// Two removals of one folder run at once.
    @Test func whatIsGoneIsNotMissed() throws {
        _ = try makeDeep(60)
        let (one, other) = (fixture.store.remover(), fixture.store.remover())
        let path = try RelativePath("d")
        let (first, second) = (
            try one.begin(path, isRecursive: true, of: nil), try other.begin(path, isRecursive: true, of: nil)
        )
        while Files.status(fixture.path(Self.deepest(60))) != nil { _ = try first.step(1) }
        while try !second.step(10) {}
        while try !first.step(10) {}
        #expect(fixture.visible.isEmpty)
    }

    private static func deepest(_ levels: Int) -> String {
        [String](repeating: "d", count: levels).joined(separator: "/") + "/f"
    }

    /// Makes nested folders with one file in each.
    ///
    /// - Returns: number of files.
    private func makeDeep(_ levels: Int) throws -> Int {
        for level in 1...levels {
            let folder = [String](repeating: "d", count: level).joined(separator: "/")
            try Files.makeDirectory(fixture.path(folder))
            try Files.write([1], to: fixture.path(folder + "/f"))
        }
        return levels
    }

    /// Number of this process's descriptors that refer to paths in the store.
    private var descriptors: Int {
        (0..<4096).count { number in
            var buffer = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(number)", &buffer, buffer.count)
            return count > 0
                && String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self).hasPrefix(
                    fixture.root)
        }
    }
}
