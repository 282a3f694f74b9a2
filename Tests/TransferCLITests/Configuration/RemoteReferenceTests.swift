import Testing
import TransferClient

@testable import TransferCLI

@Suite struct RemoteReferenceTests {
    @Test(arguments: [
        ("home", "home", "", false), ("home:", "home", "", true), ("home:/", "home", "", false),
        ("home:/a/b", "home", "a/b", false), ("home:/a//b/", "home", "a/b", false), ("home/a", "home", "a", false),
        ("a-b_1", "a-b_1", "", false),
    ]) func names(_ text: String, name: String, folder: String, isOnlyRemote: Bool) throws {
        let reference = try #require(RemoteReference(text))
        #expect(reference.name == name && reference.folder == folder && reference.isOnlyRemote == isOnlyRemote)
    }

    @Test(arguments: [
        "", ":", "/x", "home:5288", "home:5288/a", "home:a", "nas.local", "nas.local:/a", "[::1]:1", "::1",
        "unix:/run/x",
        "unix", "-x", "a b", "é", "transfer://h",
    ]) func namesNone(_ text: String) {
        #expect(RemoteReference(text) == nil)
    }

    @Test(arguments: [("h:1/a", "b", "h:1/a/b"), ("h:1", "b/c", "h:1/b/c"), ("h:1/a", "", "h:1/a"), ("h:1", "", "h:1")])
    func foldersAreBelowItsOwn(_ address: String, folder: String, whole: String) throws {
        let remote = Remote(
            name: "r", address: try #require(ServerAddress(address)), place: Setting.Place(path: "p", line: 1),
            settings: [:])
        #expect(remote.server(folder) == ServerAddress(whole))
    }
}
