import Glibc
import Testing
import TransferTestSupport

/// In a container without its capabilities, root is subject to file permissions like any user.
@Suite(.ownThreads) struct BoundRootTests {
    private static let setpriv = "/usr/bin/setpriv"

    @Test(.enabled(if: geteuid() == 0 && access(setpriv, X_OK) == 0)) func whatIsClosedToItsOwnerCanBeFetched() throws {
        let home = try TemporaryDirectory()
        try makeDirectory(home.path("in"))
        try writeFile(home.path("in/closed"), Array("abc".utf8))
        #expect(chmod(home.path("in/closed"), 0) == 0 && chown(home.path("in/closed"), 65534, 65534) == 0)
        var surroundings = Surroundings()
        surroundings.executable = Self.setpriv
        let reduced = ["--bounding-set", "-all", "--inh-caps", "-all", try Spawner.executable()]
        let program = try Program(
            reduced + ["serve", "--dir", home.path("stored"), "--listen", "127.0.0.1:0", "--plaintext"], surroundings)
        let address = try RunningServer.address(program)
        let pushed = try Finished(["push", "--archive", home.path("in"), "--to", address, "--plaintext"])
        #expect(pushed.end == .exited(0), "\(pushed.errors)")
        let printed = try Finished(["cat", "in/closed", "--from", address, "--plaintext"])
        #expect(printed.output == "abc", "\(printed.errors)")
        program.signal(SIGTERM)
        #expect(try program.wait() == .exited(0))
    }
}
