import Glibc
import Testing
import TransferTestSupport

@testable import TransferSystem

/// A file that decides about trust is accepted only if no other user can write or replace it.
@Suite struct FileTrustTests {
    private let here: TemporaryDirectory
    private let file: String

    init() throws {
        here = try TemporaryDirectory()
        file = here.path("home/.config/transfer/config.toml")
        for folder in ["home", "home/.config", "home/.config/transfer"] {
            #expect(mkdir(here.path(folder), 0o755) == 0)
        }
        _ = try OwnFile.write([1], to: file, replaces: false)
        for folder in ["home", "home/.config", "home/.config/transfer"] {
            #expect(chmod(here.path(folder), 0o755) == 0)
        }
        #expect(chmod(file, 0o644) == 0)
    }

    private func fault(_ path: String, home: String?) -> FileTrust.Fault? {
        do throws(FileTrust.Fault) {
            try FileTrust.check(path, home: home)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatOnlyTheUserCanWriteIsBelieved() {
        for home in [here.path("home"), here.path("elsewhere"), nil] { #expect(fault(file, home: home) == nil) }
        #expect(fault(here.path("missing"), home: nil)?.reason == .unknown)
    }

    @Test(arguments: [0o666, 0o646, 0o602] as [mode_t]) func aFileThatOthersCanWriteIsNot(mode: mode_t) {
        #expect(chmod(file, mode) == 0)
        let expected = FileTrust.Fault(path: CanonicalPath(file).string, isFolder: false, reason: .writable)
        #expect(fault(file, home: here.path("home")) == expected)
    }

    /// Clients of a server that stores in one of the folders above could have sent the file.
    @Test(arguments: ["", "home", "home/.config/transfer"]) func aFileThatClientsCanSendIsNot(served: String) {
        let folder = served.isEmpty ? here.path : here.path(served)
        #expect(mkdir("\(folder)/.transfer", 0o700) == 0)
        #expect(fault(file, home: here.path("home")) == nil)
        #expect(close(creat("\(folder)/\(FileTrust.lockOfServedDirectory)", 0o600)) == 0)
        let expected = FileTrust.Fault(path: CanonicalPath(folder).string, isFolder: true, reason: .served)
        for home in [here.path("home"), nil] { #expect(fault(file, home: home) == expected) }
    }

    /// Checks all folders up to the home; above the home, and for files elsewhere, only the folder of the file.
    @Test func aFolderThatOthersCanWriteIsNot() {
        let folders = ["home/.config/transfer", "home/.config", "home"]
        for (index, folder) in folders.enumerated() {
            let path = here.path(folder)
            #expect(chmod(path, 0o757) == 0)
            let found = fault(file, home: here.path("home"))
            #expect(found == .init(path: CanonicalPath(path).string, isFolder: true, reason: .writable))
            #expect((fault(file, home: nil) == nil) == (index > 0))
            // With the sticky bit, other users cannot remove the user's files.
            #expect(chmod(path, 0o1777) == 0)
            #expect(fault(file, home: here.path("home")) == nil)
            #expect(chmod(path, 0o755) == 0)
        }
    }

    /// The mode of a link does not show who can write its target.
    @Test func whatALinkLeadsToIsAskedFor() throws {
        let link = here.path("home/link")
        #expect(symlink(file, link) == 0)
        #expect(fault(link, home: here.path("home")) == nil)
        #expect(chmod(file, 0o666) == 0)
        #expect(fault(link, home: here.path("home"))?.reason == .writable)
    }

    @Test(.enabled(if: geteuid() == 0)) func whatBelongsToSomebodyElseIsNot() {
        for (path, isFolder) in [(file, false), (here.path("home/.config/transfer"), true)] {
            #expect(chown(path, 12_345, 0) == 0)
            let expected = FileTrust.Fault(path: CanonicalPath(path).string, isFolder: isFolder, reason: .owner(12_345))
            #expect(fault(file, home: here.path("home")) == expected)
            #expect(chown(path, 0, 0) == 0)
        }
        // A group with other members, whatever its name is.
        #expect(chown(file, 0, 12_345) == 0 && chmod(file, 0o664) == 0)
        #expect(fault(file, home: nil)?.reason == .writable)
        // Another user's link, in a folder in which others may make links.
        #expect(chmod(file, 0o644) == 0 && mkdir(here.path("shared"), 0o1777) == 0)
        #expect(chmod(here.path("shared"), 0o1777) == 0)
        #expect(symlink(file, here.path("shared/link")) == 0 && fault(here.path("shared/link"), home: nil) == nil)
        #expect(lchown(here.path("shared/link"), 12_345, 0) == 0)
        #expect(fault(here.path("shared/link"), home: nil)?.reason == .owner(12_345))
    }

    /// The target of a link in an open folder is not trusted, nor is a path that cannot be looked up.
    @Test func aLinkInAnOpenFolderIsNot() {
        let link = here.path("home/open/link")
        #expect(mkdir(here.path("home/open"), 0o755) == 0 && symlink(file, link) == 0)
        #expect(fault(link, home: here.path("home")) == nil)
        #expect(chmod(here.path("home/open"), 0o777) == 0)
        let open = FileTrust.Fault(path: here.path("home/open"), isFolder: true, reason: .writable)
        #expect(fault(link, home: here.path("home")) == open)
        #expect(chmod(here.path("home/open"), 0o755) == 0)
        // Bytes that are not text.
        let place = here.path("home/odd")
        let odd: [CChar] = [0x2F, -1, 0]
        #expect(odd.withUnsafeBufferPointer { bytes in bytes.baseAddress.map { symlink($0, place) } } == 0)
        #expect(fault(place, home: nil)?.reason == .unknown)
    }
}
