private import Glibc
internal import TransferClient
private import TransferIO
private import TransferModel
private import TransferSystem

/// Asks the user at the terminal whether to accept deliveries, for `--accept ask`.
struct DeliveryQuestion: Sendable {
    /// - Returns: nil if the question could not be seen or answered: standard error is not a terminal, or the process
    ///   is in the background.
    init?() {
        guard isatty(STDERR_FILENO) == 1, let terminal = Self.terminal() else { return nil }
        // A background job would be stopped as soon as it reads the terminal.
        guard tcgetpgrp(terminal.number) == getpgrp() else { return nil }
    }

    private static func terminal() -> Descriptor? {
        let number = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        return number < 0 ? nil : Descriptor(number)
    }

    func ask(_ delivery: Delivery, _ reporter: some Asker) async -> ReceiveOptions.Choice {
        await reporter.ask(
            "\(delivery.nameOrSeal), \(ByteFormat.size(delivery.shownSize)), \(delivery.shownKind.name), "
                + "from \(delivery.personForDisplay). Accept it? (y accepts it, n declines it, Enter leaves "
                + "it) ")
        let answer = await Self.answer()
        await reporter.answered()
        return switch answer {
        case "y", "yes": .take
        case "n", "no": .decline
        default: .leave
        }
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
