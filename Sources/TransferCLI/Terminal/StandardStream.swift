internal import Glibc
internal import TransferSystem

/// Where the program talks to whoever started it.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Opens what the caller closed, so that no socket or file gets its number and then what is meant for people. It is
    /// opened the wrong way round: using it fails, as if it were closed.
    static func occupyClosed() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Writes all of a text. A stream that is closed, or that nobody reads any more, takes nothing, which is no error
    /// of ours.
    ///
    /// - Returns: why the rest of the text is lost, if it is.
    @discardableResult
    func write(_ text: String) -> SystemError? {
        var remaining = Array(text.utf8)[...]
        while !remaining.isEmpty {
            let written = remaining.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if written >= 0 {
                remaining = remaining.dropFirst(written)
            } else if errno == EAGAIN {
                Self.waitUntilWritable(rawValue)
            } else if errno != EINTR {
                return errno == EPIPE || errno == EBADF ? nil : SystemError(errno: errno, call: "write")
            }
        }
        return nil
    }

    /// A stream can be non-blocking because another program that shares it made it so.
    static func waitUntilWritable(_ number: Int32) {
        var waiting = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
    }
}

/// Colours of words, by the numbers of ECMA-48 that every terminal has.
enum Colour: Int {
    case red = 31
    case green = 32
    case yellow = 33

    /// The text in this colour, if colours are on.
    func paint(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text }
}
