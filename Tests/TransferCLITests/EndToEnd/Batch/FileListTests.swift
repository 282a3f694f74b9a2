import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct FileListTests {
    @Test func listedFilesKeepTheirPaths() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a/1.txt", "a/b/2.txt", "c/3.txt", "c/4.txt"])
        try writeFile(files.home.path("list"), "a/1.txt\n./a/./b/2.txt\n\n\(files.home.path)/./c\n".utf8)
        let push = try files.push(server, to: "/f", "--files-from", "list")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.visibleFiles == ["f/a/1.txt", "f/b/2.txt", "f/c/3.txt", "f/c/4.txt"])
    }

    @Test func fromStandardInputWithNullBytes() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["odd\nname", "b"])
        var surroundings = files.here
        surroundings.input = .pipe
        let push = try server.startPush(["--files-from", "-", "-0"], surroundings)
        try push.write("odd\nname\0b\0".utf8)
        push.closeInput()
        #expect(try push.wait() == .exited(0), "\(push.errorText)")
        #expect(server.visibleFiles == ["b", "odd\nname"])
    }

    /// The list names the files that failed. After their causes are fixed, pushing the list completes the batch.
    @Test(arguments: [false, true]) func whatFailedCanBePushedAgain(_ isNullSeparated: Bool) throws {
        let server = try RunningServer()
        let files = try BatchFiles(["in/a", "in/deep/b", "in/deep/odd \"name\"", "c"])
        try makeDirectory(files.home.path("in/.transfer"))
        let flags = isNullSeparated ? ["-0"] : []
        let operands = ["in", files.home.path("missing/d"), "c", "gone"]
        let first = try server.push(operands + ["--failed-to", "failed"] + flags, to: "/f", files.here)
        #expect(first.end == .exited(1))
        #expect(first.errors.contains("\nfailures are listed in 'failed'\n"), "\(first.errors)")
        let end = isNullSeparated ? "\0" : "\n"
        #expect(try files.text("failed") == "\(files.home.path("missing"))/./d\(end)gone\(end)")
        for path in ["missing/d", "gone"] { try files.add(path) }
        let second = try server.push(["--files-from", "failed", "--failed-to", "failed"] + flags, to: "/f", files.here)
        #expect(second.end == .exited(0), "\(second.errors)")
        #expect(second.errors.hasPrefix("2 stored, "))
        #expect(try files.text("failed") == "")
        #expect(
            server.visibleFiles == ["f/c", "f/d", "f/gone", "f/in/a", "f/in/deep/b", "f/in/deep/odd \"name\""])
    }

    /// Files from the list keep their stored paths, however the directory was named.
    @Test(arguments: [".", "../in", "link", "./sub/.."]) func aDirectoryByAnyName(_ operand: String) throws {
        let server = try RunningServer()
        let files = try BatchFiles(["in/sub/a"])
        #expect(symlink("../in", files.home.path("in/link")) == 0)
        let broken = files.home.path("in/sub/.transferignore")
        try writeFile(broken, [0xFF])
        let here = Surroundings(directory: files.home.path("in"))
        let list = files.home.path("failed")
        let first = try server.push([operand, "--exclude", "link/", "--failed-to", list], here)
        #expect(first.end == .exited(1), "\(first.errors)")
        unlink(broken)
        let second = try server.push(["--files-from", list], here)
        #expect(second.end == .exited(0), "\(second.errors)")
        #expect(server.visibleFiles == [operand == "link" ? "link/sub/a" : "in/sub/a"])
    }

    /// A list that is both input and output must survive a push that could not start.
    @Test func whatWasNeverTriedIsListedToo() throws {
        let peer = try FakeServer()
        let files = try BatchFiles(["in/a", "in/b", "c"])
        try writeFile(files.home.path("list"), "in/a\nx/./gone\nc\n".utf8)
        let arguments = ["push", "--plaintext", "--to", peer.address + "/f"]
        let list = ["--files-from", "list", "--failed-to", "list"]
        let push = try Program(arguments + list + ["--text", "x", "--fail-fast"], files.here)
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        let finished = try Finished(push)
        #expect(finished.end == .exited(1))
        #expect(try files.text("list").split(separator: "\n").sorted() == ["c", "in/a", "x/./gone"])
        peer.refuse()
        connection.close()
        let refused = try Finished(arguments + list, files.here)
        #expect(refused.end == .exited(3))
        #expect(refused.errors.hasSuffix("failures are listed in 'list'\n"), "\(refused.errors)")
        #expect(try files.text("list").split(separator: "\n").sorted() == ["c", "in/a", "x/./gone"])
        let directory = try Finished(arguments + ["in", "--failed-to", "other", "--exclude", "b"], files.here)
        #expect(directory.end == .exited(3))
        #expect(try files.text("other") == "in/a\n")
    }

    @Test func aNameThatIsNotUTF8IsOneFailure() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a", "b"])
        try writeFile(files.home.path("list"), Array("a\n".utf8) + [0xFF, 0x0A] + Array("b\n".utf8))
        let push = try files.push(server, "--files-from", "list", "--failed-to", "failed")
        #expect(push.end == .exited(1))
        #expect(
            push.errors.hasPrefix("sourceUnreadable  \u{FFFD}: Its name is not UTF-8; rename it.\n"), "\(push.errors)")
        #expect(try readFile(files.home.path("failed")) == [0xFF, 0x0A])
        #expect(server.visibleFiles == ["a", "b"])
    }

    /// A path that contains a zero byte ends there when it is opened, but not when it is compared with the rules.
    @Test func aZeroByteIsInNoPath() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a", "b"])
        try writeFile(files.home.path("list"), Array("a".utf8) + [0] + Array(".txt\nb\n".utf8))
        let push = try files.push(server, "--files-from", "list", "--exclude", "a")
        #expect(push.end == .exited(1))
        #expect(push.errors.contains("It contains a NUL byte, which no path can have."), "\(push.errors)")
        #expect(server.visibleFiles == ["b"])
    }

    @Test func anEmptyListIsNoFailure() throws {
        let server = try RunningServer()
        let push = try server.push(["--files-from", "/dev/null"])
        #expect(push.end == .exited(0) && push.errors == "no files to push\n")
    }

    @Test func aListThatCannotBeWritten() throws {
        let server = try RunningServer()
        let push = try server.push(["/nonexistent", photo, "--failed-to", "/dev/full"])
        #expect(push.end == .exited(1))
        let sentence = "transfer: cannot write the list of failures to '/dev/full': No space left on device\n"
        #expect(push.errors.hasSuffix(sentence), "\(push.errors)")
        #expect(server.visibleFiles == ["demo.png"])
    }

    @Test(arguments: [
        (["--files-from", "/nonexistent"], "--files-from: /nonexistent cannot be read: No such file or directory"),
        (["--files-from", "/"], "--files-from: / cannot be read: Is a directory"),
        (["--files-from", "-", "--manifest", "-"], "standard input can be read only once"),
        (["--files-from", "-", "-", "--name", "a"], "--name is for a single upload"),
        (["a", "--name", "b", "--failed-to", "c"], "--failed-to cannot be combined with --name; use --manifest"),
        (
            ["a", "--failed-to", "/nonexistent/a"],
            "cannot open '/nonexistent/a' for the list of failures: No such file or directory"
        ),
        (["a", "--exclude", ""], "--exclude: The pattern is empty."),
        (["a", "--newer", "soon"], "--newer: 'soon' is not a duration, a date or a file: No such file or directory"),
        (["a", "--bandwidth", "1K"], "--bandwidth must be at least 16K"),
        (["a", "--retry", "-1"], "--retry: '-1' is not a whole number"),
    ])
    func theCommandLineIsWrong(_ arguments: [String], _ message: String) throws {
        let push = try Finished(["push"] + arguments)
        #expect(push.end == .exited(2) && push.output == "")
        #expect(push.errors == "transfer: \(message)\nTry 'transfer help push'.\n")
    }
}
