internal import TransferModel

/// The uploads or downloads that a manifest describes, one JSON object on each line.
struct Manifest {
    /// The command that reads the manifest. It determines which members a line may have.
    enum Reader {
        case push, pull

        var keys: [String] { ["path", "name", "folder"] + (self == .push ? ["kind"] : []) }
    }

    /// The members of one line.
    struct Entry: Equatable {
        let path: String
        var name: String?
        var folder: String?
        var kind: ContentKind?

        /// The path under which the file is stored, relative to the server's folder or to the target directory of a
        /// pull. Nil stands for the name in `path`.
        var destination: String? {
            guard let folder else { return name }
            return (name ?? PathList.lastName(of: path)).map { "\(folder)/\($0)" }
        }
    }

    /// The reason why a line is invalid.
    struct Fault: Error, Equatable {
        let message: String
    }

    let entries: [Entry]

    /// - Parameter key: the flag whose value names the manifest; without it, the manifest is empty.
    /// - Throws: `UsageError` with the first invalid line.
    init(
        _ key: FlagKey<String?, Never>, _ arguments: ParsedArguments, for reader: Reader
    ) throws(UsageError) {
        guard arguments.isSet(key.flag) else {
            entries = []
            return
        }
        let input = try BatchInput(key, arguments)
        var entries: [Entry] = []
        var faults: [(line: Int, fault: Fault)] = []
        var number = 0
        for line in input.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            do throws(Fault) {
                entries.append(try Self.entry(Array(line), for: reader))
            } catch {
                faults.append((number, error))
            }
        }
        if let (line, fault) = faults.first {
            let others = ["", "; 1 more line is wrong"]
            let end = faults.count <= 2 ? others[faults.count - 1] : "; \(faults.count - 1) more lines are wrong"
            throw arguments.error("\(input.name), line \(line): \(fault.message)\(end)")
        }
        self.entries = entries
    }

    /// The kinds of the entries that name one, by the path under which they are stored.
    var kinds: [PathKey: ContentKind] {
        var kinds: [PathKey: ContentKind] = [:]
        for entry in entries {
            if let kind = entry.kind, let name = entry.destination ?? PathList.lastName(of: entry.path) {
                kinds[PathKey(name)] = kind
            }
        }
        return kinds
    }

    /// Reads the JSON object of one line.
    static func entry(_ line: [UInt8], for reader: Reader) throws(Fault) -> Entry {
        let members: [(key: String, value: JSONNode)]
        do throws(JSONFault) {
            guard case .object(let object) = try JSONReader.read(line) else { throw JSONFault("it is not an object") }
            members = object
        } catch {
            throw Fault(message: error.message)
        }
        var values: [String: String] = [:]
        for (key, value) in members {
            guard reader.keys.contains(key) else {
                let suggestion = Suggestion.phrase(for: key, among: reader.keys)
                throw Fault(message: "unknown member '\(key.escapedForDisplay)'\(suggestion)")
            }
            guard case .string(let text) = value, !text.isEmpty else {
                throw Fault(message: "'\(key)' must be a string that is not empty")
            }
            // System calls would use only the part before the NUL, as if it were the whole path.
            guard !text.utf8.contains(0) else { throw Fault(message: "'\(key)' contains a NUL byte") }
            values[key] = text
        }
        guard let path = values["path"] else { throw Fault(message: "'path' is missing") }
        return Entry(path: path, name: values["name"], folder: values["folder"], kind: try kind(values["kind"]))
    }

    private static func kind(_ name: String?) throws(Fault) -> ContentKind? {
        guard let name else { return nil }
        guard let kind = ContentKind(name: name) else {
            let choices = ContentKind.flagValues.joined(separator: ", ")
            throw Fault(message: "unknown kind '\(name.escapedForDisplay)'; choose \(choices)")
        }
        return kind
    }
}

extension PathList {
    /// The last component of a path; nil if the path has none that is a name, as `..`.
    static func lastName(of path: String) -> String? {
        name(of: path)?.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
    }
}
