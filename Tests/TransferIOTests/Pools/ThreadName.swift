import Glibc

/// The name of the calling thread (proc_pid_comm(5)).
func threadName() -> String {
    let file = open("/proc/thread-self/comm", O_RDONLY)
    guard file >= 0 else { return "" }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
        count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
}
