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

    /// The most bytes of a key file.
    private static let longestKeyFile = 4096

    /// - Throws: `UsageError` for an invalid key, or unless there is exactly one file.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        operand = try arguments.onlyOperand(ShowReceiptsCommand.operand)
        against = arguments[Self.content]
        isJSON = arguments[Self.json]
        isQuiet = arguments[Self.quiet]
        key = try arguments[Self.server]
    }

    func run() -> ExitCode {
        var tally = ReceiptTally()
        var subject = operand
        do throws(SystemError) {
            subject = against ?? operand
            let content = try against.map { (path) throws(SystemError) in try ReceiptedContent(path) }
            subject = operand
            let verifier = ReceiptVerifier()
            var lines = try ReceiptLines(operand)
            while let line = try lines.next() {
                do throws(ReceiptFault) {
                    let receipt = try line.receipt.get()
                    try check(receipt, verifier, &tally)
                    guard let content, let difference = content.difference(from: receipt) else {
                        tally.good += 1
                        continue
                    }
                    tally.bad += 1
                    print(difference, about: receipt.path.string, lines.name, line.number)
                } catch {
                    tally.bad += 1
                    print(error.phrase, about: nil, lines.name, line.number)
                }
            }
        } catch {
            StandardStream.error.write("transfer: \(subject.escapedForDisplay): \(error.reason)\n")
            return .uploadsFailed
        }
        if isJSON {
            StandardStream.output.write(tally.json(isContentCompared: against != nil).text + "\n")
        } else if !isQuiet {
            StandardStream.output.write(tally.text(isKeyKnown: key != nil, isContentCompared: against != nil))
        }
        return tally.bad == 0 && tally.good > 0 ? .success : .uploadsFailed
    }

    /// Verifies the signature of a receipt, and that the signer is the one that `--key` names.
    private func check(
        _ receipt: KeptReceipt, _ verifier: ReceiptVerifier, _ tally: inout ReceiptTally
    ) throws(ReceiptFault) {
        switch receipt {
        case .upload(let signed):
            try verifier.verify(signed)
            tally.count(receipt)
            let signer = signed.receipt.server
            guard key?.matches(signer) ?? true else { throw .otherServer(signer) }
        case .delivery(let signed):
            try verifier.verify(signed)
            tally.count(receipt)
            let signer = signed.receipt.recipient
            guard key?.matches(signer) ?? true else { throw .otherRecipient(signer) }
        }
    }

    /// - Parameter path: the path in the receipt, if the content differs; nil if the receipt itself is invalid.
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

extension KeptReceipt {
    /// The path of the content.
    fileprivate var path: RelativePath {
        switch self {
        case .upload(let signed): signed.receipt.path
        case .delivery(let signed): signed.receipt.name
        }
    }
}

extension ReceiptedContent {
    fileprivate func difference(from receipt: KeptReceipt) -> String? {
        switch receipt {
        case .upload(let signed):
            difference(of: receipt.path, from: signed.receipt.digest, size: signed.receipt.size)
        case .delivery(let signed):
            difference(of: receipt.path, from: signed.receipt.digest, size: signed.receipt.size)
        }
    }
}

extension VerifyReceiptsCommand: ProgramCommand {
    private static let server = FlagKey<KeyPattern?, UsageError>(
        Flag(
            name: "key", placeholder: "KEY", help: "Accept only receipts signed with KEY.",
            details:
                "A fingerprint (SHA256:...), as the server logs it, or as 'transfer key' shows it to a "
                + "recipient; the public key in hexadecimal or base64; or the path of a PEM file.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        guard let key = KeyPattern(text) ?? read(text).flatMap(KeyPattern.init) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a key; give a fingerprint (SHA256:...), 32 bytes in "
                    + "hexadecimal or base64, or the path of a public Ed25519 key in PEM")
        }
        return key
    }

    private static let content = Flag(
        name: "against", placeholder: "PATH", help: "Compare files with the receipts.",
        details:
            "PATH is a directory, such as the server's or a copy of it, in which each receipt's path is "
            + "looked up (for a delivery receipt, the sender's name for the content); or one file, which "
            + "every receipt must be about.", value: .file
    ).text

    private static let json = Flag(
        name: "json", help: "Print one JSON object per line for every problem, and one for the summary."
    ).isOn

    private static let quiet = Flag(name: "quiet", short: "q", help: "Print only problems.").isOn

    static let definition = Command(
        name: "receipt verify", summary: "Check signed receipts, and files against them.", operands: "FILE",
        description: [
            "Reads receipts, one per line, such as 'transfer push --receipts FILE' writes, and checks "
                + "the signature of each: the server's, or the recipient's on a delivery receipt. The server "
                + "is not contacted. - is standard input.",
            "Without --key, it prints who has signed: compare that with the key that the server's "
                + "operator or the recipient gives you. With --against, it also reads the files and compares "
                + "size and digest.",
        ],
        flags: [server.flag, content.flag, json.flag, quiet.flag, .insecurePermissions, .help],
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
            .init(
                caption: "Check that a recipient has received the files in this directory",
                line: "transfer receipt verify sent.jsonl --key SHA256:kPq... --against ."),
        ],
        outcomes: [
            .init(.success, "every receipt is good, and with --against so is the content"),
            .init(.uploadsFailed, "a receipt or file is not good or not readable, or there was no receipt"),
            .init(.usage),
        ], operandValue: .file)
}
