internal import TransferClient
private import TransferModel
private import TransferSystem

/// `transfer push --dry-run`: prints what would be sent.
struct PushPlan {
    private let uploads: PushUploads
    private let server: ServerAddress
    private let selection: Selection
    private let output: PushOutput

    init(_ uploads: PushUploads, _ server: ServerAddress, _ selection: Selection, _ output: PushOutput) {
        (self.uploads, self.server, self.selection, self.output) = (uploads, server, selection, output)
    }

    func run() -> ExitCode {
        var counts = (files: 0, bytes: UInt64(0), failed: 0)
        var lost: SystemError?
        for path in uploads.unusable {
            counts.failed += 1
            StandardStream.error.write("\(UploadReport.unusable(path).line)\n")
        }
        for step in UploadPlan(uploads, folder: server.folder, selection: selection) {
            switch step {
            case .upload(let source, let destination, let size, _):
                counts.files += 1
                counts.bytes = counts.bytes.addingClamped(size ?? 0)
                let destination = output.shown(destination)
                let line = output.isJSON ? Self.json(source, destination, size) : Self.line(source, destination, size)
                lost = lost ?? StandardStream.output.write(line + "\n")
            case .failure(let report) where report.result == .sourceSkipped && !report.isNamed: break
            case .failure(let report):
                counts.failed += 1
                StandardStream.error.write("\(report.line)\n")
            }
        }
        return finish(counts.files, counts.bytes, counts.failed, lost)
    }

    private func finish(_ files: Int, _ bytes: UInt64, _ failed: Int, _ lost: SystemError?) -> ExitCode {
        let failures = failed > 0 ? ", \(failed) cannot be sent" : ""
        if !output.isQuiet {
            StandardStream.error.write("\(files) would be sent, \(ByteFormat.size(bytes))\(failures); nothing was\n")
        }
        guard let lost else { return failed > 0 ? .uploadsFailed : .success }
        StandardStream.error.write("transfer: cannot write the results to standard output: \(lost.reason)\n")
        return .uploadsFailed
    }

    private static func line(_ source: String, _ destination: String, _ size: UInt64?) -> String {
        let path = source.hasSameBytes(as: destination) ? source : "\(source) -> \(destination)"
        return "would send  \(path.escapedForDisplay)" + (size.map { "  \(ByteFormat.size($0))" } ?? "")
    }

    private static func json(_ source: String, _ destination: String, _ size: UInt64?) -> String {
        let line: JSONLine = [
            "schema": .string(JSONSchema.plan), "source": .string(source), "destination": .string(destination),
            "size": size.map { .integer($0) } ?? .null,
        ]
        return line.text
    }
}
