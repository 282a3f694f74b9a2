private import CLinux
private import Glibc
private import TransferKeys
private import TransferModel
private import TransferProtocol
private import TransferReceipts
private import TransferSystem

/// `transfer receipt verify`: checks receipts offline, and stored content against them.
struct VerifyReceiptsCommand {
    private let operand: String
    private let key: KeyPattern?
    private let against: String?
    private let isJSON: Bool
    private let isQuiet: Bool

    /// A file with more is no key.
    private static let longestKeyFile = 4096

    /// - Throws: `UsageError` for what is no key, and unless there is one file.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        operand = try arguments.onlyOperand(ShowReceiptsCommand.operand)
        against = arguments[Self.content]
        isJSON = arguments[Self.json]
        isQuiet = arguments[Self.quiet]
        key = try arguments[Self.server]
    }

    func run() -> ExitCode {
        var tally = Tally()
        do throws(SystemError) {
            let content = try against.map { (path) throws(SystemError) in try ReceiptedContent(path) }
            let verifier = ReceiptVerifier()
            var lines = try ReceiptLines(operand)
            while let line = try lines.next() {
                do throws(ReceiptFault) {
                    let signed = try line.receipt.get()
                    try verifier.verify(signed)
                    tally.servers[signed.receipt.server, default: 0] += 1
                    guard key?.matches(signed.receipt.server) ?? true else {
                        throw .otherServer(signed.receipt.server)
                    }
                    guard let difference = content?.difference(from: signed.receipt) else {
                        tally.good += 1
                        continue
                    }
                    tally.bad += 1
                    print(difference, about: signed.receipt.path.string, lines.name, line.number)
                } catch {
                    tally.bad += 1
                    print(error.phrase, about: nil, lines.name, line.number)
                }
            }
        } catch {
            StandardStream.error.write("transfer: \(error)\n")
            return .uploadsFailed
        }
        if isJSON {
            StandardStream.output.write(tally.json(isContentCompared: against != nil).text + "\n")
        } else if !isQuiet {
            StandardStream.output.write(tally.text(isKeyKnown: key != nil, isContentCompared: against != nil))
        }
        return tally.bad == 0 && tally.good > 0 ? .success : .uploadsFailed
    }

    /// - Parameter path: of the receipt, where it is the content that is wrong.
    private func print(_ difference: String, about path: String?, _ file: String, _ number: Int) {
        let object: JSONLine = [
            "schema": .string(JSONSchema.receiptFinding), "file": .string(operand), "line": .integer(number),
            "path": path.map { .string($0) } ?? .null, "message": .string(difference),
        ]
        let subject = path.map { "\($0.escapedForDisplay): " } ?? ""
        StandardStream.output.write(isJSON ? object.text + "\n" : "\(file):\(number): \(subject)\(difference)\n")
    }

    private static func read(_ path: String) -> String? {
        let number = clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        guard number >= 0 else { return nil }
        let file = Descriptor(number)
        let bytes = [UInt8](unsafeUninitializedCapacity: longestKeyFile) { buffer, count in
            count = max(0, Glibc.read(file.number, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What was found.
private struct Tally {
    var good = 0
    var bad = 0
    /// Receipts that each server has signed.
    var servers: [ServerKey: Int] = [:]

    private var sortedServers: [(key: ServerKey, value: Int)] {
        servers.sorted { $0.key.hexadecimal < $1.key.hexadecimal }
    }

    func json(isContentCompared: Bool) -> JSONLine {
        [
            "schema": .string(JSONSchema.receiptCheck), "good": .integer(good), "bad": .integer(bad),
            "contentCompared": .bool(isContentCompared),
            "servers": .array(
                sortedServers.map {
                    .object(["key": .string("\($0.key.fingerprint)"), "receipts": .integer($0.value)])
                }),
        ]
    }

    func text(isKeyKnown: Bool, isContentCompared: Bool) -> String {
        var text = ""
        if !isKeyKnown {
            for (key, count) in sortedServers {
                text += "signed by \(key.fingerprint): \(count)\n"
            }
        }
        guard good + bad > 0 else { return "there is no receipt\n" }
        let claim = isContentCompared ? "good, and the content is as they say" : "good"
        return text + "\(good) \(claim)" + (bad > 0 ? ", \(bad) bad" : "") + "\n"
    }
}

extension VerifyReceiptsCommand: ProgramCommand {
    private static let server = FlagKey<KeyPattern?, UsageError>(
        Flag(
            name: "key", placeholder: "KEY", help: "Accept receipts of this server only.",
            details:
                "A fingerprint as the server logs it (SHA256:...), the public key in hexadecimal or base64, or the "
                + "path of a PEM file.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        guard let key = KeyPattern(text) ?? read(text).flatMap(KeyPattern.init) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is no key; give a fingerprint (SHA256:...), 32 bytes in hexadecimal or "
                    + "base64, or the path of a public Ed25519 key in PEM")
        }
        return key
    }

    private static let content = Flag(
        name: "against", placeholder: "PATH", help: "Compare stored content with the receipts.",
        details:
            "A directory, such as the server's or a copy of it, in which each receipt's path is looked up; or one "
            + "file, which every receipt must be about.", value: .file
    ).text

    private static let json = Flag(
        name: "json", help: "Print one JSON object a line for everything that is wrong, and one for the summary."
    ).isOn

    private static let quiet = Flag(name: "quiet", short: "q", help: "Print only what is wrong.").isOn

    static let definition = Command(
        name: "receipt verify", summary: "Check signed receipts, and files against them.", operands: "FILE",
        description: [
            "Reads the receipts that 'transfer push --receipts FILE' kept, one a line, and checks that the server signed "
                + "each as it stands. Nothing is asked of the server. - stands for standard input.",
            "Without --key it shows whose receipts they are: compare that with what the server's operator says. With "
                + "--against it also reads the stored files and compares size and digest.",
        ],
        flags: [server.flag, content.flag, json.flag, quiet.flag, .help],
        examples: [
            .init(
                caption: "Check receipts of a known server",
                line: "transfer receipt verify receipts.jsonl --key SHA256:uUq..."),
            .init(
                caption: "Check a server's directory, or a backup of it, against them",
                line: "transfer receipt verify receipts.jsonl --against /srv/in"),
            .init(
                caption: "Check one file",
                line: "grep photo.png receipts.jsonl | transfer receipt verify - --against a.png"),
        ],
        outcomes: [
            .init(.success, "every receipt is good, and so is the content where it was asked for"),
            .init(.uploadsFailed, "something is not good, could not be read, or there was no receipt"), .init(.usage),
        ], operandValue: .file)
}
