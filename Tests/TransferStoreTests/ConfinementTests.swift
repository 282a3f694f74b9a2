import Glibc
import Testing
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Nothing that a client names gets out of the directory, with either resolver.
@Suite struct ConfinementTests {
    @Test(arguments: [true, false]) func symbolicLinksAreNotFollowed(usesOpenat2: Bool) throws {
        let box = try StoreBox(usesOpenat2: usesOpenat2)
        mkdir(box.directory.path("elsewhere"), 0o755)
        mkdir(box.path("real"), 0o755)
        symlink(box.directory.path("elsewhere"), box.path("out"))
        symlink("real", box.path("in"))
        symlink("../..", box.path("real/up"))
        for path in ["out/x", "out/deep/x", "in/x", "real/up/x"] {
            #expect(try box.refusal(path, [1]) == .invalidPath, "\(path)")
            #expect(throws: StoreError.self) {
                try box.store.admit(try RelativePath(path), size: 1, conflict: .keepBoth)
            }
        }
        #expect(StoreBox.names(in: box.directory.path("elsewhere")).isEmpty)
        #expect(StoreBox.names(in: box.path("real")) == ["up"])
    }

    @Test(arguments: [true, false]) func aFileWhereADirectoryIsNeeded(usesOpenat2: Bool) throws {
        let box = try StoreBox(usesOpenat2: usesOpenat2)
        try box.publish("file", [1])
        #expect(try box.refusal("file/x", [1]) == .pathConflict)
        #expect(try box.refusal("file/x/y", [1]) == .pathConflict)
        #expect(box.names == ["file"])
    }

    @Test(arguments: [true, false]) func aDirectorySwappedForALinkLeadsNowhere(usesOpenat2: Bool) async throws {
        let box = try StoreBox(usesOpenat2: usesOpenat2)
        let (elsewhere, target, spare) = (box.directory.path("elsewhere"), box.path("d"), box.path("spare"))
        mkdir(elsewhere, 0o755)
        mkdir(target, 0o755)
        let swapping = Task.detached {
            for _ in 0..<2000 {
                rename(target, spare)
                symlink(elsewhere, target)
                unlink(target)
                rename(spare, target)
            }
        }
        for number in 0..<300 { _ = box.store.publish([try box.ready("d/f\(number)", [1])]) }
        await swapping.value
        #expect(StoreBox.names(in: elsewhere).isEmpty)
    }
}
