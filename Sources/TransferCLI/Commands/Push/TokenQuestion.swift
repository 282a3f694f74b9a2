private import CLinux
private import Glibc
internal import TransferAccess
internal import TransferClient
private import TransferIO
private import TransferSystem

/// Asks the user at the terminal for a token, without echo.
struct TokenQuestion: Sendable {
    private static let prompt = "Token: "

    /// The longest line of a terminal, in bytes (termios(3)).
    private static let longestLine = 4096

    /// - Returns: nil if there is no terminal, or the process is in the background.
    init?() {
        // A background job would be stopped as soon as it reads the terminal.
        guard let terminal = try? Self.terminal(), tcgetpgrp(terminal.number) == getpgrp() else { return nil }
    }

    private static func terminal() throws(SystemError) -> Descriptor {
        Descriptor(try system("open") { open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) })
    }

    /// - Throws: `TransferFailure` if the answer is not a token, or a signal arrived before it.
    func ask() async throws(TransferFailure) -> AccessSecret {
        // The question uses a separate thread, because it waits for the user.
        let pool = BlockingPool(name: "transfer-ask", threads: 1)
        defer { pool.close() }
        let answer = await pool.run { Result { () throws(SystemError) in try Self.answer() } }
        switch answer {
        case .success(let line?):
            guard let secret = AccessSecret(line) else {
                throw TransferFailure(reason: .refused, message: "That is not a token. Nothing was sent.")
            }
            return secret
        case .success(nil): throw TransferFailure(reason: .cancelled, message: "It was stopped.")
        case .failure(let error):
            throw TransferFailure(
                reason: .refused, message: "The terminal cannot be asked for a token: \(error.reason).")
        }
    }

    /// - Returns: the answer; nil if a signal that ends the program arrived before it.
    private static func answer() throws(SystemError) -> String? {
        let terminal = try terminal()
        let number = terminal.number
        var before = termios()
        try system("tcgetattr") { tcgetattr(number, &before) }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // TCSAFLUSH discards text that was typed before the question: it was echoed, and is not an answer.
        try system("tcsetattr") { tcsetattr(number, TCSAFLUSH, &silent) }
        defer {
            tcsetattr(number, TCSAFLUSH, &before)
            _ = write(number, "\n", 1)
        }
        try system("write") { write(number, prompt, prompt.utf8.count) }
        guard try waitForLine(number) else { return nil }
        var line = [UInt8](repeating: 0, count: longestLine)
        let count = try system("read") { read(number, &line, line.count) }
        return String(decoding: line[..<count], as: UTF8.self)
    }

    /// The signals that end the program are blocked in all threads, so that the terminal is always restored.
    ///
    /// - Returns: false if a signal arrived first.
    private static func waitForLine(_ terminal: Int32) throws(SystemError) -> Bool {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGTERM)
        let signals = Descriptor(try system("signalfd") { signalfd(-1, &set, Int32(SFD_CLOEXEC)) })
        var waiting = [
            pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
        ]
        try system("poll") { poll(&waiting, nfds_t(waiting.count), -1) }
        return waiting[1].revents == 0
    }
}
