import Glibc
import Testing
import TransferTestSupport

@Suite struct TemporaryDirectoryTests {
    @Test func goesWithAllThatIsInIt() throws {
        func make() throws -> String {
            let directory = try TemporaryDirectory()
            close(creat(directory.path("file"), 0o600))
            mkdir(directory.path("closed"), 0o700)
            close(creat(directory.path("closed/file"), 0o600))
            symlink("/tmp", directory.path("link"))
            chmod(directory.path("closed"), 0)
            return directory.path
        }
        let path = try make()
        #expect(access(path, F_OK) == -1)
        #expect(access("/tmp", F_OK) == 0)
    }
}
