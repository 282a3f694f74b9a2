import CSpawn
package import Glibc

/// Describes a process that should have ended or done something, for the message of a test that has waited in vain.
package enum ProcessReport {
    /// The largest number of bytes of stacks that are shown of one process.
    private static let longestStacks = 64 << 10

    /// Seconds that a debugger may take.
    private static let patience: Int32 = 120

    /// The processes that hold an end of a pipe, except this process.
    package static func holders(ofPipe number: Int32) -> [pid_t] {
        var status = stat()
        guard fstat(number, &status) == 0 else { return [] }
        let link = "pipe:[\(status.st_ino)]"
        let own = content("/proc/self/cmdline")
        let processes = names(in: "/proc").compactMap { pid_t($0) }.filter { $0 != getpid() }
        return processes.filter { process in
            // Until a new process runs its program, it has copies of all descriptors of this process, and its command
            // line. So a process counts only if it still holds the pipe after its command line was found to be another
            // one.
            holds(process, link) && content("/proc/\(process)/cmdline") != own && holds(process, link)
        }
    }

    private static func holds(_ process: pid_t, _ link: String) -> Bool {
        names(in: "/proc/\(process)/fd").contains { target("/proc/\(process)/fd/\($0)") == link }
    }

    /// The command line of a process, its state, and for each thread its place in the kernel, and its stack if a
    /// debugger is installed.
    package static func text(_ process: pid_t) -> String {
        let place = "/proc/\(process)"
        let words = content("\(place)/cmdline").split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        var lines = ["process \(process), child of \(field("PPid", process)): \(words.joined(separator: " "))"]
        for thread in names(in: "\(place)/task").sorted() {
            let task = "\(place)/task/\(thread)"
            lines.append(
                "  thread \(thread) '\(line("\(task)/comm"))', \(state(task)), in \(line("\(task)/wchan")), "
                    + "system call \(line("\(task)/syscall"))")
            // Only root may read the stack in the kernel.
            let stack = String(decoding: content("\(task)/stack"), as: UTF8.self)
            lines += stack.split(separator: "\n").map { "    \($0)" }
        }
        return (lines + ["  " + stacks(of: process)]).joined(separator: "\n")
    }

    /// The stacks of all threads, as the first debugger shows them that is installed.
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

    /// The output of a program, until it ends or its time is over.
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

    /// The value in a line of `/proc/PID/status`, such as `PPid`; empty if the process does not exist any more.
    package static func field(_ name: String, _ process: pid_t) -> String {
        let lines = String(decoding: content("/proc/\(process)/status"), as: UTF8.self).split(separator: "\n")
        let found = lines.first { $0.hasPrefix("\(name):") }
        return found?.split(whereSeparator: \.isWhitespace).dropFirst().joined(separator: " ") ?? ""
    }

    /// The state is the word after the name in parentheses, which may contain any characters (proc(5)).
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
