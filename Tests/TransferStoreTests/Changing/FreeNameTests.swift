import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Moves to free names on a file system that can rename only by replacing, such as NFS.
@Suite struct FreeNameTests {
    /// What the disk does besides.
    private struct Behaviour {
        var hasLinks = true
        /// Whether there is no room for a folder named `a`.
        var isFull = false
        /// What another client does right before the first call that gives a moved entry its new name.
        var other: (@Sendable () -> Void)?
    }

    private let behaviour = Behaving()
    private let fixture: StoreFixture

    private final class Behaving: Sendable {
        let state = Locked(Behaviour())
    }

    init() throws {
        let temporary = try TemporaryDirectory()
        let disk = Disk(interception: { [behaviour] call, body in
            switch call {
            case .exchange, .rename(_, _, _, _, replaces: false): return -Int(EINVAL)
            case .linkName where !behaviour.state.withLock(\.hasLinks): return -Int(EPERM)
            case .makeDirectory(_, "a") where behaviour.state.withLock(\.isFull): return -Int(ENOSPC)
            case .rename, .linkName: behaviour.state.withLock { $0.other.take() }?()
            default: break
            }
            return body()
        })
        let store = try FileStore(path: temporary.path("store"), durability: .none, fileSystem: nil, disk: disk)
        fixture = StoreFixture(temporary: temporary, store: store, name: "store")
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    /// An upload that takes the name in between is acknowledged, and the move must not replace it.
    @Test func anUploadThatTakesTheNameInBetweenStays() throws {
        try fixture.publish("a", .one)
        let target = fixture.path("b")
        behaviour.state.withLock { $0.other = { try? Files.write(.two, to: target) } }
        let editor = fixture.store.editor()
        let error = #expect(throws: Failure.self) { _ = try editor.move(path("a"), to: path("b")) }
        #expect(error?.code == .pathConflict)
        #expect(fixture.visible == ["a", "b"])
        #expect(Files.read(fixture.path("a")) == .one && Files.read(target) == .two)
    }

    @Test(arguments: [true, false]) func filesAndFoldersMove(links: Bool) throws {
        try fixture.publish("a", .one)
        try fixture.publish("d/e", .two)
        behaviour.state.withLock { $0.hasLinks = links }
        let editor = fixture.store.editor()
        _ = try editor.move(path("a"), to: path("b"))
        _ = try editor.move(path("d"), to: path("f"))
        try editor.commit()
        #expect(fixture.visible == ["b", "f/", "f/e"] && Files.read(fixture.path("b")) == .one)
    }

    @Test(arguments: [true, false]) func aTakenNameIsRefused(links: Bool) throws {
        for name in ["a", "b", "d/e"] { try fixture.publish(name, .one) }
        behaviour.state.withLock { $0.hasLinks = links }
        let editor = fixture.store.editor()
        for (name, target) in [("a", "b"), ("a", "d"), ("d", "b")] {
            let error = #expect(throws: Failure.self) { _ = try editor.move(path(name), to: path(target)) }
            #expect(error?.code == .pathConflict)
        }
        #expect(fixture.visible == ["a", "b", "d/", "d/e"])
    }

    /// A folder is to replace a file, and cannot be created: the file gets its name back.
    @Test(arguments: [true, false]) func aFileThatIsNotReplacedGetsItsNameBack(links: Bool) throws {
        try fixture.publish("a", .one)
        behaviour.state.withLock { ($0.hasLinks, $0.isFull) = (links, true) }
        let editor = fixture.store.editor()
        let error = #expect(throws: Failure.self) { try editor.makeDirectory(path("a"), replaces: true) }
        #expect(error?.code == .insufficientStorage)
        #expect(fixture.visible == ["a"] && Files.read(fixture.path("a")) == .one)
    }
}
