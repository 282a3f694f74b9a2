private import Glibc
internal import TransferClient
private import TransferIO
private import TransferModel
private import TransferSystem

/// Asks the user at the terminal whether to trust an unknown server.
struct TrustQuestion: Sendable {
    private let reporter: any Asker

    /// - Returns: nil if the question could not be seen or answered: standard error is not a terminal, or the process
    ///   is in the background.
    init?(_ reporter: any Asker) {
        guard isatty(STDERR_FILENO) == 1, let terminal = Self.terminal() else { return nil }
        // A background job would be stopped as soon as it reads the terminal.
        guard tcgetpgrp(terminal.number) == getpgrp() else { return nil }
        self.reporter = reporter
    }

    /// Opens the terminal itself, because standard input may be the content to push.
    private static func terminal() -> Descriptor? {
        let number = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        return number < 0 ? nil : Descriptor(number)
    }

    func ask(_ server: UnknownServer) async -> Bool {
        await reporter.ask(
            """
            The server \(server.address.escapedForDisplay) is not known here.\(Self.doubt(server)) Its key is
              \(server.fingerprint)
            Its log says the same when it starts. Trust it, now and from now on? (yes/no) 
            """)
        let isYes = await Self.answer() == "yes"
        await reporter.answered()
        return isYes
    }

    private static func doubt(_ server: UnknownServer) -> String {
        server.speaksTransfer ? "" : " It doesn't say that it speaks Transfer."
    }

    /// Reads on a separate thread, because it waits for the user.
    private static func answer() async -> String {
        let pool = BlockingPool(name: "transfer-ask", threads: 1)
        defer { pool.close() }
        return await pool.run {
            guard let terminal = terminal() else { return "" }
            return line(of: terminal)
        }
    }

    /// The answer without the end of the line, in lower case. Longer input than 256 bytes is not an answer.
    private static func line(of terminal: borrowing Descriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let number = terminal.number
        let count = (try? system("read") { read(number, &bytes, bytes.count) }) ?? 0
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self).lowercased()
    }
}
