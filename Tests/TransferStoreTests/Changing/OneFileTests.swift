import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A file that is found under the name that it is to get.
@Suite struct OneFileTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
        try fixture.publish("a", .one)
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    /// What is mounted under the new name has that name only as long as the mount is there. Where mounting is not allowed there is
    /// nothing to test with.
    @Test(arguments: [true, false]) func aFileThatIsMountedThereKeepsItsName(isMove: Bool) throws {
        try Files.write([], to: fixture.path("b"))
        guard mount(fixture.path("a"), fixture.path("b"), nil, UInt(MS_BIND), nil) == 0 else { return }
        defer { umount2(fixture.path("b"), Int32(MNT_DETACH)) }
        let editor = fixture.store.editor()
        let error = #expect(throws: Failure.self) {
            if isMove {
                _ = try editor.move(path("a"), to: path("b"), replaces: true)
            } else {
                _ = try editor.makeHardLink(path("b"), to: path("a"), replaces: true)
            }
        }
        #expect(error?.code == .pathConflict)
        #expect(Files.read(fixture.path("a")) == .one && fixture.visible == ["a", "b"])
    }

    /// Of two names of one file the old one goes.
    @Test func oneOfTwoNamesGoes() throws {
        let editor = fixture.store.editor()
        _ = try editor.makeHardLink(path("b"), to: path("a"), replaces: false)
        _ = try editor.makeHardLink(path("b"), to: path("a"), replaces: false)
        let error = #expect(throws: Failure.self) { _ = try editor.move(path("a"), to: path("b")) }
        #expect(error?.code == .pathConflict)
        _ = try editor.move(path("a"), to: path("b"), replaces: true)
        try editor.commit()
        #expect(fixture.visible == ["b"] && Files.read(fixture.path("b")) == .one)
    }

    /// The file system takes both names for one, as one that ignores case does: `link` stands for the second look at the new name.
    @Test(arguments: [true, false]) func aNameThatIsWrittenInAnotherWay(staysFound: Bool) throws {
        let (root, disk) = (fixture.store.tree.root, fixture.store.tree.root.disk)
        let status = try root.status("a")
        let one = OneFile(disk, try #require(status))
        // Where the kernel keeps the old name in mind, the new one is still found.
        if staysFound { #expect(link(fixture.path("a"), fixture.path("B")) == 0) }
        let isRenamed = try one.rename("a", in: root, to: "B", in: root)
        #expect(isRenamed != staysFound)
        #expect(Files.read(fixture.path(staysFound ? "a" : "B")) == .one)
    }
}
