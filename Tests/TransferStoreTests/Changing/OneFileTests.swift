import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The target name of a move or link already names the moved file.
@Suite struct OneFileTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
        try fixture.publish("a", .one)
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    /// A file that is mounted at the new name has that name only while it is mounted. The test is skipped where
    /// mounting is not allowed.
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

    /// A move between two names of one file removes the old name.
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

    /// A file system that ignores case treats both names as one: `link` simulates the second lookup of the new name.
    @Test(arguments: [true, false]) func aNameThatIsWrittenInAnotherWay(staysFound: Bool) throws {
        let (root, disk) = (fixture.store.tree.root, fixture.store.tree.root.disk)
        let status = try root.status("a")
        let one = OneFile(disk, try #require(status))
        // If the kernel still knows the old name, the new name is found as well.
        if staysFound { #expect(link(fixture.path("a"), fixture.path("B")) == 0) }
        let isRenamed = try one.rename("a", in: root, to: "B", in: root)
        #expect(isRenamed != staysFound)
        #expect(Files.read(fixture.path(staysFound ? "a" : "B")) == .one)
    }
}
