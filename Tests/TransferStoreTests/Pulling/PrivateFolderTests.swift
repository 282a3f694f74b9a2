import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Parts of long files in a directory where other users can make names.
@Suite struct PrivateFolderTests {
    private let temporary: TemporaryDirectory
    private let names = [RelativePath.partsName, RelativePath.partsName(of: geteuid())]

    /// The ID of another user.
    private static let stranger: uid_t = 64_321

    init() throws {
        temporary = try TemporaryDirectory()
    }

    private func plant(_ name: String, mode: mode_t, owner: uid_t = geteuid()) throws {
        try Files.makeDirectory(temporary.path(name))
        try Files.check("chmod", chmod(temporary.path(name), mode))
        if owner != geteuid() { try Files.check("chown", chown(temporary.path(name), owner, gid_t.max)) }
    }

    private func folder() throws -> PrivateFolder {
        PrivateFolder(names, in: try DirectoryHandle(path: temporary.path, on: Disk()))
    }

    /// Writes a part of a file and returns the paths that this made.
    private func placeOfPart() throws -> Set<String> {
        let before = Files.tree(temporary.path)
        let destination = try PullDirectory(path: temporary.path)
        _ = try #require(try destination.resume(id: .random()))
        return Files.tree(temporary.path).subtracting(before)
    }

    @Test func theUsualNameIsTaken() throws {
        let made = try placeOfPart()
        #expect(made.count == 2 && made.contains("\(names[0])/"))
        #expect(Files.mode(temporary.path(names[0])) == 0o700)
        #expect(try folder().openIfThere() != nil)
    }

    /// Another process of this user may remove the folder right after it was made, because it is empty.
    @Test func oneThatIsRemovedIsMadeAgain() throws {
        let isOver = Atomic(false)
        let path = temporary.path(names[0])
        let other = TestThread { while !isOver.load(ordering: .relaxed) { rmdir(path) } }
        defer { other.join() }
        defer { isOver.store(true, ordering: .relaxed) }
        let folder = try folder()
        for _ in 0..<20_000 { _ = try folder.openOrMake() }
        #expect(!Files.names(temporary.path).contains(names[1]))
    }

    /// A folder that others can read or have made is not used, whatever it contains.
    @Test(arguments: [0o777, 0o755, 0o710, 0o1777] as [mode_t])
    func aFolderThatIsOpenToOthersIsLeft(mode: mode_t) throws {
        try plant(names[0], mode: mode)
        let made = try placeOfPart()
        #expect(made.count == 2 && made.allSatisfy { $0.hasPrefix("\(names[1])/") }, "\(made)")
        #expect(Files.mode(temporary.path(names[1])) == 0o700)
        try folder().removeIfEmpty()
        #expect(Files.names(temporary.path).contains(names[0]))
    }

    @Test(.enabled(if: geteuid() == 0)) func aFolderOfAnotherUserIsLeft() throws {
        for mode in [0o700, 0o777] as [mode_t] {
            try plant(names[0], mode: mode, owner: Self.stranger)
            try Files.write([7], to: temporary.path("\(names[0])/note"))
            #expect(try folder().openIfThere() == nil)
            let made = try placeOfPart()
            #expect(made.count == 2 && made.allSatisfy { $0.hasPrefix("\(names[1])/") }, "\(made)")
            for name in names { TemporaryDirectory.remove(temporary.path(name)) }
        }
    }

    @Test func whatIsNoFolderIsLeft() throws {
        try Files.makeDirectory(temporary.path("elsewhere"))
        try Files.makeSymlink(temporary.path(names[0]), to: "elsewhere")
        #expect(try placeOfPart().allSatisfy { $0.hasPrefix("\(names[1])/") })
        #expect(Files.names(temporary.path("elsewhere")).isEmpty)
    }

    /// If others have made all possible folders, the fetch fails with an error that names one.
    @Test func whereOthersHaveAllNames() throws {
        for name in names { try plant(name, mode: 0o777) }
        let destination = try PullDirectory(path: temporary.path)
        let error = #expect(throws: Failure.self) { try destination.resume(id: .random()) }
        #expect(error?.code == .targetFailed)
        #expect(error?.message.contains(names[1]) == true, "\(error?.message ?? "")")
        for name in names { #expect(Files.names(temporary.path(name)).isEmpty) }
    }
}
