private import Glibc
internal import TransferClient
private import TransferIO
private import TransferModel
private import TransferSystem

/// Asks whoever sits at the terminal whether an unknown server is the right one.
struct TrustQuestion: Sendable {
    private let reporter: any Asker

    /// - Returns: nothing where there is nobody to ask: the question could not be seen, or not be answered.
    init?(_ reporter: any Asker) {
        guard isatty(STDERR_FILENO) == 1, let terminal = Self.terminal() else { return nil }
        // A job in the background would be stopped as soon as it reads.
        guard tcgetpgrp(terminal.number) == getpgrp() else { return nil }
        self.reporter = reporter
    }

    /// Not standard input, which may be what is pushed.
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

    /// On a thread of its own: people take their time.
    private static func answer() async -> String {
        let pool = BlockingPool(name: "transfer-ask", threads: 1)
        defer { pool.close() }
        return await pool.run {
            guard let terminal = terminal() else { return "" }
            return line(of: terminal)
        }
    }

    /// Without the end of the line; what is longer than a word is no answer.
    private static func line(of terminal: borrowing Descriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let number = terminal.number
        let count = (try? system("read") { read(number, &bytes, bytes.count) }) ?? 0
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self).lowercased()
    }
}
