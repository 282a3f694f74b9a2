import CSpawn
package import Glibc

/// What can be found out about a process that should have ended or done something, for the message of the test that has waited
/// in vain.
package enum ProcessReport {
    /// Bytes of the stacks that are shown of one process.
    private static let longestStacks = 64 << 10

    /// Seconds that a debugger may take.
    private static let patience: Int32 = 120

    /// The processes that hold an end of a pipe, without this one.
    package static func holders(ofPipe number: Int32) -> [pid_t] {
        var status = stat()
        guard fstat(number, &status) == 0 else { return [] }
        let link = "pipe:[\(status.st_ino)]"
        let own = content("/proc/self/cmdline")
        let processes = names(in: "/proc").compactMap { pid_t($0) }.filter { $0 != getpid() }
        return processes.filter { process in
            // A process that was just made has copies of all descriptors until it becomes another program, and it has the
            // command line of this one until then. So what holds the pipe behind the look at the command line is meant.
            holds(process, link) && content("/proc/\(process)/cmdline") != own && holds(process, link)
        }
    }

    private static func holds(_ process: pid_t, _ link: String) -> Bool {
        names(in: "/proc/\(process)/fd").contains { target("/proc/\(process)/fd/\($0)") == link }
    }

    /// The command line, the state, and for each thread where it is: in the kernel, and as a debugger shows it if there is one.
    package static func text(_ process: pid_t) -> String {
        let place = "/proc/\(process)"
        let words = content("\(place)/cmdline").split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        var lines = ["process \(process), child of \(field("PPid", process)): \(words.joined(separator: " "))"]
        for thread in names(in: "\(place)/task").sorted() {
            let task = "\(place)/task/\(thread)"
            lines.append(
                "  thread \(thread) '\(line("\(task)/comm"))', \(state(task)), in \(line("\(task)/wchan")), "
                    + "system call \(line("\(task)/syscall"))")
            // Root alone may read it.
            let stack = String(decoding: content("\(task)/stack"), as: UTF8.self)
            lines += stack.split(separator: "\n").map { "    \($0)" }
        }
        return (lines + ["  " + stacks(of: process)]).joined(separator: "\n")
    }

    /// As debuggers show them, of which the first one is taken that is installed.
    private static func stacks(of process: pid_t) -> String {
        let debuggers: [(path: String, arguments: [String])] = [
            ("/usr/bin/eu-stack", ["-p", "\(process)"]),
            (
                "/usr/bin/gdb",
                ["-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all backtrace 60"]
                    + ["-p", "\(process)"]
            ),
            ("/usr/bin/lldb", ["--no-lldbinit", "--batch", "-o", "thread backtrace all", "-p", "\(process)"]),
        ]
        guard let debugger = debuggers.first(where: { access($0.path, X_OK) == 0 }) else {
            return "install eu-stack(1) or gdb(1) to see where its threads are"
        }
        let text = output(of: [debugger.path] + debugger.arguments)
        return "by \(debugger.path):\n" + text.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    }

    /// What a program writes, to its end or for as long as it may take.
    private static func output(of command: [String]) -> String {
        var ends: [Int32] = [-1, -1]
        guard cspawn_pipe(&ends) == 0 else { return "pipe: errno \(errno)" }
        defer { close(ends[0]) }
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let launch = ChildLaunch(
            descriptors: [STDIN_FILENO: nothing, STDOUT_FILENO: ends[1], STDERR_FILENO: ends[1]])
        let child = Result { () throws(ChildLaunch.Failure) in try Child(command, launch) }
        close(ends[1])
        close(nothing)
        switch child {
        case .failure(let failure): return failure.description
        case .success(let child):
            defer { child.endAll() }
            return String(decoding: read(ends[0]), as: UTF8.self)
        }
    }

    private static func read(_ number: Int32) -> [UInt8] {
        var (bytes, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        while bytes.count < longestStacks, poll(&waiting, 1, patience * 1000) == 1 {
            let count = Glibc.read(number, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return Array(bytes.prefix(longestStacks))
    }

    // MARK: Files of the kernel

    /// The value in a line of the status, such as `PPid`; empty if the process has gone.
    package static func field(_ name: String, _ process: pid_t) -> String {
        let lines = String(decoding: content("/proc/\(process)/status"), as: UTF8.self).split(separator: "\n")
        let found = lines.first { $0.hasPrefix("\(name):") }
        return found?.split(whereSeparator: \.isWhitespace).dropFirst().joined(separator: " ") ?? ""
    }

    /// The word behind the name in parentheses, which may have anything in it (proc(5)).
    private static func state(_ task: String) -> String {
        line("\(task)/stat").split(separator: ") ").last?.split(separator: " ").first.map { "state \($0)" } ?? "gone"
    }

    private static func line(_ path: String) -> String {
        String(decoding: content(path), as: UTF8.self).split(separator: "\n").first.map { String($0) } ?? ""
    }

    private static func target(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    private static func content(_ path: String) -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return [] }
        defer { close(number) }
        var (bytes, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 12))
        while case let count = Glibc.read(number, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return bytes
    }
}
