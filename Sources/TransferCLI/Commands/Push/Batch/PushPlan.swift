internal import TransferClient
private import TransferModel
private import TransferSystem

/// `transfer push --dry-run`: prints what would be sent.
struct PushPlan {
    private let uploads: PushUploads
    private let server: ServerAddress
    private let configuration: ClientConfiguration
    private let output: PushOutput

    init(
        _ uploads: PushUploads, _ server: ServerAddress, _ configuration: ClientConfiguration, _ output: PushOutput
    ) {
        (self.uploads, self.server, self.configuration, self.output) = (uploads, server, configuration, output)
    }

    func run() -> ExitCode {
        var counts = (files: 0, bytes: UInt64(0), failed: 0)
        var entries = EntryCounts()
        var lost: SystemError?
        for path in uploads.unusable {
            counts.failed += 1
            StandardStream.error.write("\(UploadReport.unusable(path).line)\n")
        }
        let plan = UploadPlan(
            uploads, folder: server.folder, selection: configuration.selection, archives: configuration.archives,
            replaces: configuration.conflict == .overwrite)
        for step in plan {
            switch step {
            case .upload(let source, let destination, let size, _):
                counts.files += 1
                counts.bytes = counts.bytes.addingClamped(size ?? 0)
                lost = lost ?? write(.file, source, destination, size)
            case .entry(let form, let source, let destination):
                entries.add(form)
                lost = lost ?? write(form, source, destination, nil)
            case .failure(let report) where report.result == .sourceSkipped && !report.isNamed: break
            case .failure(let report):
                counts.failed += 1
                StandardStream.error.write("\(report.line)\n")
            }
        }
        return finish(counts, entries, lost)
    }

    private func write(_ form: EntryForm, _ source: String, _ destination: String, _ size: UInt64?) -> SystemError? {
        let destination = output.shown(destination)
        let line =
            output.isJSON ? Self.json(form, source, destination, size) : Self.line(form, source, destination, size)
        return StandardStream.output.write(line + "\n")
    }

    private func finish(
        _ counts: (files: Int, bytes: UInt64, failed: Int), _ entries: EntryCounts, _ lost: SystemError?
    ) -> ExitCode {
        if !output.isQuiet {
            var words = ["\(counts.files) would be sent", ByteFormat.size(counts.bytes)] + entries.words
            if counts.failed > 0 { words.append("\(counts.failed) cannot be sent") }
            StandardStream.error.write("dry run: \(words.joined(separator: ", "))\n")
        }
        guard let lost else { return counts.failed > 0 ? .uploadsFailed : .success }
        StandardStream.error.write("transfer: cannot write the results to standard output: \(lost.reason)\n")
        return .uploadsFailed
    }

    private static func line(
        _ form: EntryForm, _ source: String, _ destination: String, _ size: UInt64?
    ) -> String {
        let path = source.hasSameBytes(as: destination) ? source : "\(source) -> \(destination)"
        return "would send  \(path.escapedForDisplay)\(form == .folder ? "/" : "")"
            + (size.map { "  \(ByteFormat.size($0))" } ?? "")
    }

    private static func json(
        _ form: EntryForm, _ source: String, _ destination: String, _ size: UInt64?
    ) -> String {
        let line: JSONLine = [
            "schema": .string(JSONSchema.plan), "source": .string(source), "destination": .string(destination),
            "size": size.map { .integer($0) } ?? .null, "form": .string(form.rawValue),
        ]
        return line.text
    }
}
