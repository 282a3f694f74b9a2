internal import Glibc
internal import TransferSystem

/// The standard streams for output.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Opens standard streams that are closed, so that no socket or file gets their numbers and receives output. They
    /// are opened in the wrong direction, so that using them fails as if they were closed.
    static func occupyClosed() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Writes a text. A closed stream, or one without a reader, is not an error.
    ///
    /// - Returns: the error if a part of the text is lost; nil otherwise.
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

    /// Waits until a stream can be written that is non-blocking, because another program that shares it may have made
    /// it so.
    static func waitUntilWritable(_ number: Int32) {
        var waiting = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
    }
}

/// Colours with their numbers in ECMA-48, which every terminal supports.
enum Colour: Int {
    case red = 31
    case green = 32
    case yellow = 33

    /// The text in this colour, if colours are on.
    func paint(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text }
}
