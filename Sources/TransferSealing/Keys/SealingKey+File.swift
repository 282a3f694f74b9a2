package import TransferKeys
internal import TransferModel
internal import TransferSystem

extension SealingKey {
    /// The name of the file in the user's own folder.
    package static let fileName = "sealing.key"

    /// Most bytes of the file: a key and some lines of comments.
    private static let longestFile = 4096

    private static let wording = KeyPair.Wording(
        name: "Your sealing key", harm: "read the files that are sealed for you",
        remedy: "If no other user has, run 'chmod 600' on it; otherwise move it away, and Transfer makes a new key.",
        repair: "Put the file back from a backup: no other key opens the files that were sealed for it.")

    /// Reads a key, or makes one durably if the file does not exist. A file without a key, or one that other users can
    /// read, is never replaced, because content sealed for that key could not be opened any more.
    ///
    /// The file has the form for `age -i`: comments, and one line with the secret. Only its owner can read it.
    ///
    /// - Parameter path: path in an existing folder; its last component must not be a symbolic link.
    /// - Returns: the key, and whether it is new.
    package static func open(_ path: String) throws(KeyPair.Fault) -> (key: SealingKey, isNew: Bool) {
        if let key = try find(path) { return (key, false) }
        let key = try made(path) { () throws(SealingError) in try SealingKey() }
        // Another process may have made a key meanwhile, which is then used.
        if try key.write(to: path) { return (key, true) }
        guard let key = try find(path) else {
            throw KeyPair.Fault(wording, path, "is being created and removed by other processes at the same time")
        }
        return (key, false)
    }

    /// - Returns: nil if the file does not exist.
    package static func find(_ path: String) throws(KeyPair.Fault) -> SealingKey? {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: longestFile)
        } catch {
            throw KeyPair.Fault(wording, path, "cannot be read: \(error.reason)")
        }
        guard let file else { return nil }
        guard file.isPrivate else {
            throw KeyPair.Fault(
                wording, path, "can be read or written by other users, who could then \(wording.harm)", wording.remedy)
        }
        guard !file.isLonger, let line = secretLine(file.content) else {
            throw KeyPair.Fault(wording, path, "does not contain exactly one secret key of age", wording.repair)
        }
        return try made(path) { () throws(SealingError) in try SealingKey(text: line) }
    }

    /// - Returns: whether it was written; false if the file exists.
    private func write(to path: String) throws(KeyPair.Fault) -> Bool {
        let secret = try Self.made(path) { () throws(SealingError) in try text }
        let lines =
            "# This key opens the files that are sealed for you. Never give it to others.\n# public "
            + "key: \(recipient.text)\n\(secret)\n"
        do throws(SystemError) {
            return try OwnFile.write(Array(lines.utf8), to: path, replaces: false)
        } catch {
            throw KeyPair.Fault(Self.wording, path, "cannot be created: \(error.reason)")
        }
    }

    /// The only line that is not a comment; nil for any other number of lines.
    private static func secretLine(_ content: [UInt8]) -> String? {
        let lines = content.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .filter { $0.first != UInt8(ascii: "#") }
        return lines.count == 1 ? lines.first.flatMap { String(validating: $0, as: UTF8.self) } : nil
    }

    private static func made<Made>(
        _ path: String, _ body: () throws(SealingError) -> Made
    ) throws(KeyPair.Fault) -> Made {
        do throws(SealingError) {
            return try body()
        } catch {
            throw KeyPair.Fault(wording, path, "cannot be used", error.message)
        }
    }
}
