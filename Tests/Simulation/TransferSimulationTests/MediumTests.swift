import Glibc
import Testing
import TransferTestSupport

@testable import TransferSimulation

@Suite struct MediumTests {
    /// A directory that gets the name of a removed one contains no file of the removed directory, even after a power
    /// cut.
    @Test func aDirectoryThatIsMadeAgainIsEmpty() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        var medium = Medium(root: directory.path, clock: VirtualClock())
        mkdir(directory.path("d"), 0o700)
        medium.makeDirectory("d", in: directory.path)
        medium.replace("d/a", in: directory.path, by: [1])
        #expect(medium.seenPaths.keys.sorted() == ["d/a"])
        medium.forget("d")
        #expect(medium.seenPaths.isEmpty)
        medium.makeDirectory("d", in: directory.path)
        #expect(medium.seenPaths.isEmpty)
        #expect(medium.seenDirectories == ["d"])
        #expect(medium.possibilities(at: "d/a").allSatisfy { $0 == .nothing })
    }

    /// A sync of a whole disk covers only that disk: a power cut may take content that was written to the other one.
    @Test(arguments: [false, true]) func aSyncOfOneDiskLeavesTheOtherOne(ofSecond: Bool) throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        var medium = Medium(root: directory.path, clock: VirtualClock())
        medium.mountSecond(in: directory.path)
        medium.replace("a", in: directory.path, by: [1], synced: false)
        medium.replace("v/a", in: directory.path, by: [2], synced: false)
        let place = open(ofSecond ? directory.path("v") : directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(place) }
        _ = medium.open(place, AT_FDCWD, "", flags: O_RDONLY)
        medium.syncAll(place)
        #expect((medium.possibilities(at: "a") == [.content([1])]) == !ofSecond)
        #expect((medium.possibilities(at: "v/a") == [.content([2])]) == ofSecond)
    }

    /// Links and renames do not lead from one disk to the other, and the folder on which a disk is mounted stays.
    @Test func noNameLeadsToTheOtherDisk() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        var medium = Medium(root: directory.path, clock: VirtualClock())
        medium.mountSecond(in: directory.path)
        medium.replace("a", in: directory.path, by: [1])
        medium.replace("v/a", in: directory.path, by: [2])
        let mount = try #require(medium.object(at: Medium.mount))
        let (file, other) = (try #require(medium.object(at: "a")), try #require(medium.object(at: "v/a")))
        #expect(medium.refusal(of: .link(file, in: medium.root)) == nil)
        #expect(medium.refusal(of: .link(file, in: mount)) == EXDEV)
        #expect(medium.refusal(of: .link(other, in: mount)) == nil)
        #expect(medium.refusal(of: .rename(from: medium.root, "a", to: mount, "b")) == EXDEV)
        #expect(medium.refusal(of: .rename(from: mount, "a", to: mount, "b")) == nil)
        #expect(medium.refusal(of: .rename(from: medium.root, "v", to: medium.root, "w")) == EBUSY)
        #expect(medium.refusal(of: .rename(from: medium.root, "a", to: medium.root, "v")) == EBUSY)
        #expect(medium.refusal(of: .removal(from: medium.root, "v")) == EBUSY)
        #expect(medium.refusal(of: .removal(from: mount, "v")) == nil)
    }
}
