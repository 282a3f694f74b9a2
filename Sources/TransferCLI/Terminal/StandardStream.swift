internal import Glibc

/// Where the program talks to whoever started it.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Writes all of a text. A stream that nobody reads any more takes nothing, which is no error of ours.
    func write(_ text: String) {
        var remaining = Array(text.utf8)[...]
        while !remaining.isEmpty {
            let written = remaining.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if written >= 0 {
                remaining = remaining.dropFirst(written)
            } else if errno == EAGAIN {
                waitUntilWritable()
            } else if errno != EINTR {
                return
            }
        }
    }

    /// A stream can be non-blocking because another program that shares it made it so.
    private func waitUntilWritable() {
        var waiting = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
    }
}
