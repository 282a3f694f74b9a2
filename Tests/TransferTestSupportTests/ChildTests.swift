import CSpawn
import Glibc
import Testing
import TransferTestSupport

/// What child processes of tests inherit, and how they end. The tests run one after another because they change the
/// signals of this process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ChildTests {
    /// cat(1), waiting for its standard input.
    private struct Waiting {
        let child: Child
        private let input: Int32

        /// Returns when cat runs, because before that its loader has libraries open.
        init(_ descriptors: [Int32: Int32] = [:]) throws {
            var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
            try #require(cspawn_pipe(&input) == 0 && cspawn_pipe(&output) == 0)
            defer { for end in [input[0], output[0], output[1]] { close(end) } }
            self.input = input[1]
            let streams: [Int32: Int32] = [0: input[0], 1: output[1]]
            child = try Child(["/bin/cat"], ChildLaunch(descriptors: streams.merging(descriptors) { $1 }))
            var byte: UInt8 = 1
            #expect(write(input[1], &byte, 1) == 1 && read(output[0], &byte, 1) == 1)
        }

        func end() throws {
            close(input)
            #expect(try child.wait() == .exited(0))
        }

        /// The numbers of the child's descriptors.
        var descriptors: [Int32] { names(in: "/proc/\(child.process)/fd").compactMap { Int32($0) }.sorted() }
    }

    /// Descriptors that other code has made inheritable, as pipe(2) and socket(2) do.
    @Test func aChildHasNoDescriptorsByChance() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let far = fcntl(ends[1], F_DUPFD, 251)
        defer { close(far) }
        // The descriptor after the standard streams is the lifeline; a stream that is not passed is closed.
        let waiting = try Waiting()
        #expect(waiting.descriptors == [0, 1, Child.lifeline])
        try waiting.end()
        let whole = try Waiting([2: STDERR_FILENO])
        #expect(whole.descriptors == [0, 1, 2, Child.lifeline])
        try whole.end()
    }

    /// A number that a child gets can belong to another descriptor of this process, and both descriptors can be passed.
    @Test func aChildHasWhatItIsGiven() throws {
        var files: [Int32] = []
        defer { for file in files { close(file) } }
        for name in ["/dev/null", "/dev/zero"] {
            let file = open(name, O_RDONLY | O_CLOEXEC)
            // The copy has a number above that of the lifeline.
            files += [file, fcntl(file, F_DUPFD_CLOEXEC, 20)]
        }
        let (first, second) = (files[1], files[3])
        let waiting = try Waiting([first: second, second: first, 400: first])
        let place = "/proc/\(waiting.child.process)/fd"
        #expect(target("\(place)/\(first)") == "/dev/zero" && target("\(place)/\(second)") == "/dev/null")
        #expect(target("\(place)/400") == "/dev/null")
        #expect(Set(waiting.descriptors) == [0, 1, Child.lifeline, first, second, 400])
        try waiting.end()
    }

    private func target(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// nohup(1) and shells with background jobs ignore signals, and a thread of the tests may block some.
    @Test(arguments: [SIGHUP, SIGINT, SIGPIPE, SIGTERM]) func aChildHasDefaultSignals(_ number: Int32) throws {
        let before = Glibc.signal(number, SIG_IGN)
        var (blocked, old) = (sigset_t(), sigset_t())
        sigemptyset(&blocked)
        sigaddset(&blocked, number)
        pthread_sigmask(SIG_BLOCK, &blocked, &old)
        let started = Result { try Waiting() }
        pthread_sigmask(SIG_SETMASK, &old, nil)
        Glibc.signal(number, before)
        let child = try started.get().child
        for field in ["SigIgn", "SigBlk", "SigCgt"] {
            let mask = try #require(UInt64(ProcessReport.field(field, child.process), radix: 16))
            // posix_spawn(3) handles glibc's own signals, 32 and 33.
            #expect(mask & ~0x1_8000_0000 == 0, "\(field)")
        }
        child.signal(number)
        #expect(try child.wait() == .killed(by: number))
    }

    @Test func aCommandEndsWithItsCode() throws {
        #expect(try ChildLaunch.shell("exit 7") == 7)
        #expect(try ChildLaunch.shell("kill -TERM $$") == 128 + SIGTERM)
        #expect(throws: ChildLaunch.Failure.self) { try Child(["/nonexistent"], ChildLaunch()) }
    }

    /// A shell that starts one process in a new session in the background, and another one in the shell's group. Both
    /// wait for a writer that never comes.
    private func family(_ directory: TemporaryDirectory) throws -> Child {
        let script = "mkfifo never; setsid cat never & echo $! >first; cat never & echo $! >second; mv second both"
        let child = try Child(["/bin/sh", "-ec", "cd '\(directory.path)'; \(script); wait"], ChildLaunch())
        while access(directory.path("both"), F_OK) != 0 {
            try #require(!child.hasEnded())
            sched_yield()
        }
        return child
    }

    private func isGone(_ process: pid_t) -> Bool {
        // A process that waits to be reaped by the parent of all orphans has ended as well.
        let state = ProcessReport.field("State", process)
        return state.isEmpty || state.hasPrefix("Z")
    }

    /// A process closes its descriptors a moment before it ends.
    private func goes(_ process: pid_t) -> Bool {
        let end = time(nil) + Child.patience
        while !isGone(process) {
            guard time(nil) < end else { return false }
            sched_yield()
        }
        return true
    }

    private func members(_ directory: TemporaryDirectory) throws -> [pid_t] {
        try ["first", "both"].map { name in
            let file = try #require(fopen(directory.path(name), "r"))
            defer { fclose(file) }
            var line = [UInt8](repeating: 0, count: 32)
            let count = fread(&line, 1, line.count, file)
            return try #require(pid_t(String(decoding: line[..<count], as: UTF8.self).dropLast()))
        }
    }

    @Test func whatATestHasStartedEndsWithIt() throws {
        let directory = try TemporaryDirectory()
        var child: Child? = try family(directory)
        let first = try #require(child).process
        let others = try members(directory)
        #expect(!isGone(first) && others.allSatisfy { !isGone($0) })
        child = nil
        #expect(kill(first, 0) != 0 && errno == ESRCH, "it was waited for")
        #expect(others.allSatisfy(goes))
    }

    /// The shell has ended, and a process that it started continues.
    @Test func whoDoesNotEndIsNamedAndKilled() throws {
        let directory = try TemporaryDirectory()
        let child = try family(directory)
        let others = try members(directory)
        child.signal(SIGTERM)
        let failure = #expect(throws: ChildLaunch.Failure.self) { try child.wait(seconds: 1) }
        let text = try #require(failure).description
        #expect(text.contains("did not end within 1 s"))
        for process in others {
            #expect(text.contains("process \(process), child of ") && text.contains(": cat never\n"), "\(text)")
            #expect(text.contains("  thread \(process) 'cat', state S, in "), "\(text)")
        }
        #expect(others.allSatisfy(goes))
        #expect(child.hasEnded())
    }

    /// The report has stacks if a debugger is installed and allowed.
    @Test func aReportShowsStacks() throws {
        let waiting = try Waiting()
        let text = waiting.child.report()
        #expect(text.contains(": /bin/cat\n"))
        #expect(text.contains("install eu-stack(1) or gdb(1)") || text.contains("by /usr/bin/"), "\(text)")
        try waiting.end()
    }
}
