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
    private final class Behaviour: Sendable {
        /// Whether there is no room for a folder named `a`.
        let isFull = Locked(false)
        /// What another client does when the disk has refused to rename without replacing.
        let earlier = Locked<(@Sendable () -> Void)?>(nil)
        /// What another client does right before a moved entry gets its new name.
        let other = Locked<(@Sendable () -> Void)?>(nil)
    }

    private let behaviour = Behaviour()
    private let fixture: StoreFixture

    init() throws {
        let temporary = try TemporaryDirectory()
        let disk = Disk(interception: { [behaviour] call, body in
            switch call {
            case .exchange: return -Int(EINVAL)
            case .rename(_, _, _, _, replaces: false):
                behaviour.earlier.withLock { $0.take() }?()
                return -Int(EINVAL)
            case .makeDirectory(_, "a") where behaviour.isFull.withLock { $0 }: return -Int(ENOSPC)
            case .rename: behaviour.other.withLock { $0.take() }?()
            default: break
            }
            return body()
        })
        let store = try FileStore(path: temporary.path("store"), durability: .none, fileSystem: nil, disk: disk)
        fixture = StoreFixture(temporary: temporary, store: store, name: "store")
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    /// Another client publishes a file under the name after the move has found it free.
    @Test func anUploadRightBeforeIsNotReplaced() throws {
        try fixture.publish("a", .one)
        let fixture = fixture
        behaviour.earlier.withLock { $0 = { _ = try? fixture.publish("b", .two) } }
        let error = #expect(throws: Failure.self) { _ = try fixture.store.editor().move(path("a"), to: path("b")) }
        #expect(error?.code == .pathConflict)
        #expect(Files.read(fixture.path("a")) == .one && Files.read(fixture.path("b")) == .two)
    }

    /// Another client publishes a file under the name while the move is about to take it. Its upload waits for the move, and gets
    /// another name.
    @Test func anUploadAtThatMomentIsNotReplaced() throws {
        try fixture.publish("a", .one)
        let fixture = fixture
        let isPublished = Locked(false)
        let thread = Locked<TestThread?>(nil)
        behaviour.other.withLock { other in
            other = {
                let upload = TestThread {
                    _ = try? fixture.publish("b", .two)
                    isPublished.withLock { $0 = true }
                }
                thread.withLock { $0 = upload }
                // More than enough for an upload that does not wait.
                for _ in 0..<2_000 where !isPublished.withLock({ $0 }) { sched_yield() }
            }
        }
        _ = try fixture.store.editor().move(path("a"), to: path("b"))
        try #require(thread.withLock { $0 }).join()
        #expect(fixture.visible.count == 2, "\(fixture.visible)")
        let contents = fixture.visible.map { Files.read(fixture.path($0)) }
        #expect(contents.contains(.one) && contents.contains(.two))
    }

    @Test func filesAndFoldersMove() throws {
        try fixture.publish("a", .one)
        try fixture.publish("d/e", .two)
        let editor = fixture.store.editor()
        _ = try editor.move(path("a"), to: path("b"))
        _ = try editor.move(path("d"), to: path("f"))
        try editor.commit()
        #expect(fixture.visible == ["b", "f/", "f/e"] && Files.read(fixture.path("b")) == .one)
    }

    @Test func aTakenNameIsRefused() throws {
        for name in ["a", "b", "d/e"] { try fixture.publish(name, .one) }
        let editor = fixture.store.editor()
        for (name, target) in [("a", "b"), ("a", "d"), ("d", "b")] {
            let error = #expect(throws: Failure.self) { _ = try editor.move(path(name), to: path(target)) }
            #expect(error?.code == .pathConflict)
        }
        #expect(fixture.visible == ["a", "b", "d/", "d/e"])
    }

    /// A folder is to replace a file, and cannot be created: the file gets its name back.
    @Test func aFileThatIsNotReplacedGetsItsNameBack() throws {
        try fixture.publish("a", .one)
        behaviour.isFull.withLock { $0 = true }
        let editor = fixture.store.editor()
        let error = #expect(throws: Failure.self) { try editor.makeDirectory(path("a"), replaces: true) }
        #expect(error?.code == .insufficientStorage)
        #expect(fixture.visible == ["a"] && Files.read(fixture.path("a")) == .one)
    }
}
