import Glibc
import TransferSystem

/// A program that enters the sandbox of a decoder and then does what its argument says, for tests that need a process of their own. It
/// ends with 0 if that was possible.

if CommandLine.arguments.dropFirst().first == "reap" { exit(reapsOthersOnly() ? 0 : 1) }

let allowsThreads = CommandLine.arguments.contains("with threads")
let limits = Sandbox.Limits(memory: 64 << 20, seconds: 1, output: 4096, allowsThreads: allowsThreads)
do { try Sandbox.enter(limits) } catch { exit(1) }

/// Whether the end of another process is taken note of, and that of an own one left to it. Not in the sandbox.
func reapsOthersOnly() -> Bool {
    let children = (0..<2).compactMap { _ in try? ChildProcess(running: ["/bin/true"], environment: [], descriptors: [])
    }
    guard children.count == 2 else { return false }
    for child in children {
        guard let end = try? DescriptorChannel.Passed(child.openEnd()) else { return false }
        var entry = pollfd(fd: end.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, -1)
    }
    // The first one may be the one that ended first.
    for _ in 0..<2 { ChildProcess.reapOthers(than: children[1].number) }
    return children[0].end() == nil && children[1].end() == .exited(0)
}

/// Whether a thread could run to the end.
func runsThread(_ body: @escaping @Sendable @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?)
    -> Bool
{
    var thread = pthread_t()
    return pthread_create(&thread, nil, body, nil) == 0 && pthread_join(thread, nil) == 0
}

/// Writes into new memory, and tells whether that was possible.
func fill(_ count: Int) -> Bool {
    guard let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        memory != MAP_FAILED
    else { return false }
    memset(memory, 1, count)
    return true
}

let isDone: Bool
switch CommandLine.arguments.dropFirst().first {
case "read":
    var bytes = [UInt8](repeating: 0, count: 16)
    isDone = read(0, &bytes, 16) == 16
case "write": isDone = write(1, "some bytes", 10) == 10
case "memory": isDone = fill(32 << 20)
case "too much memory": isDone = fill(128 << 20)
case "endless": while true {}
case "too much output":
    let bytes = [UInt8](repeating: 7, count: 8192)
    isDone = write(1, bytes, bytes.count) == 8192
case "open": isDone = open("/etc/passwd", O_RDONLY) >= 0
case "socket": isDone = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0
case "execute":
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
    isDone = execv("/bin/true", &arguments) == 0
case "thread": isDone = runsThread { _ in nil }
case "thread that opens":
    isDone = runsThread { _ in
        _ = open("/etc/passwd", O_RDONLY)
        return nil
    }
case "process": isDone = (try? ChildProcess(running: ["/bin/true"], environment: [], descriptors: [])) != nil
case "endless in spite of the signal":
    signal(SIGXCPU, SIG_IGN)
    while true {}
case "sort":
    var numbers = (0..<1000).map { $0 % 7 }
    qsort(&numbers, numbers.count, MemoryLayout<Int>.size) { a, b in
        Int32(clamping: (a?.load(as: Int.self) ?? 0) - (b?.load(as: Int.self) ?? 0))
    }
    isDone = numbers == numbers.sorted()
case "poison": isDone = madvise(mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 100) == 0
case "code":
    isDone = mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
case "writable code": isDone = mprotect(nil, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0
case "signal": isDone = kill(getppid(), 0) == 0
case "longer file": isDone = ftruncate(1, 1 << 20) == 0
// Trap: this is what the test wants to see.
case "trap": fatalError("as a decoder that meets a mistake of its own")
case "descriptor": isDone = write(2, "x", 1) == 1
default: isDone = false
}
_exit(isDone ? 0 : 1)
