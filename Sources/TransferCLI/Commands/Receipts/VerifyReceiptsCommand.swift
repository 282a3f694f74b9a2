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
        operand = try arguments.receiptFile
        against = arguments.string("against")
        isJSON = arguments.isSet("json")
        isQuiet = arguments.isSet("quiet")
        key = try arguments.string("key").map { (text) throws(UsageError) in
            guard let key = KeyPattern(text) ?? Self.read(text).flatMap(KeyPattern.init) else {
                throw arguments.error(
                    "'\(text.escapedForDisplay)' is no key; give a fingerprint (SHA256:...), 32 bytes in hexadecimal or "
                        + "base64, or the path of a public Ed25519 key in PEM")
            }
            return key
        }
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
