package import TransferModel

/// One upload by PUT: the name under which the content is sent, and the meaning of answers. No I/O.
///
/// A server that announces `Transfer-On-Conflict` gets the conflict policy in the query. Requests to any other server
/// forbid replacing a file (`If-None-Match: *`), unless the policy is to overwrite. If the policy is to keep both and
/// the name is taken, the next numbered name is tried.
package struct PutUpload: Sendable {
    package enum Step: Equatable, Sendable {
        /// Make a parent folder, with the request from `makeFolder`.
        case makeFolder
        /// Send the content with the request from `put`.
        case put
    }

    /// Field in which a Transfer server names the conflict policies that it accepts in a query.
    package static let policiesField = "Transfer-On-Conflict"

    /// Most numbered names to try; each costs a request.
    package static let mostNumbers = 100

    private let folder: String
    private let name: RelativePath
    private let policy: ConflictPolicy
    /// Whether the server accepts the policy in the query.
    private let isTold: Bool
    private var number = 0
    /// Parent folders that still have to be made; nil until the server has answered that one is missing.
    private var missing: [String]?
    /// Whether the server may have the content although the answer to an earlier request was lost.
    private var mayBeThere = false

    /// - Parameters:
    ///   - folder: path of the folder on the server, encoded, with a slash at its end.
    ///   - name: path of the file below that folder.
    ///   - isTold: whether the server accepts the policy in the query.
    package init(in folder: String, name: RelativePath, _ policy: ConflictPolicy, isTold: Bool) {
        (self.folder, self.name, self.policy, self.isTold) = (folder, name, policy, isTold)
    }

    package var step: Step { missing?.isEmpty ?? true ? .put : .makeFolder }

    /// Path on the server for the PUT request, encoded.
    package var path: String { folder + PercentEncoding.path(numbered.string.utf8) }

    private var numbered: RelativePath {
        guard number > 0 else { return name }
        let bytes = name.name.utf8
        let dot = bytes.dropFirst().lastIndex(of: UInt8(ascii: "."))
        let stem = String(Substring(dot.map { bytes[..<$0] } ?? bytes[...]))
        let rest = dot.map { String(Substring(bytes[$0...])) } ?? ""
        // If the numbered name would be too long, the name stays as it is, and the server answers that it is taken.
        return (try? name.renamed("\(stem)-\(number)\(rest)")) ?? name
    }

    /// The head of the request that sends the content.
    package func put() -> RequestHead {
        var fields = HTTPFields()
        guard !isTold else { return RequestHead(.put, "\(path)?on-conflict=\(word)", fields: fields) }
        if policy != .overwrite { fields.append("If-None-Match", "*") }
        return RequestHead(.put, path, fields: fields)
    }

    package func makeFolder() -> RequestHead { RequestHead(.makeCollection, missing?.first ?? folder) }

    private var word: String {
        switch policy {
        case .keepBoth: "keep-both"
        case .overwrite: "overwrite"
        case .skip: "skip"
        case .fail: "fail"
        }
    }

    /// Records that the connection was lost before the answer came.
    ///
    /// - Parameter isAllSent: whether the kernel had taken the whole request.
    package mutating func lost(isAllSent: Bool) {
        if isAllSent, step == .put { mayBeThere = true }
    }

    /// Interprets the answer to the latest request.
    package mutating func take(_ head: ResponseHead) -> UploadVerdict {
        switch step {
        case .makeFolder: madeFolder(head)
        case .put: wasPut(head)
        }
    }

    private mutating func wasPut(_ head: ResponseHead) -> UploadVerdict {
        switch head.status {
        case 202:
            return .failed(
                Failure(
                    .unacknowledged,
                    "The server answered 202 Accepted: it has accepted the file, but not confirmed that it is stored."
                ))
        case 200...299: return .complete
        case 412 where !isTold && policy != .overwrite: return taken()
        case 409 where missing == nil && !isTold:
            missing = folders
            return .goOn
        default:
            return .other(head, doing: "PUT")
        }
    }

    private mutating func taken() -> UploadVerdict {
        guard !mayBeThere else {
            return .failed(
                Failure(
                    .unacknowledged,
                    "All of it was sent, the connection was lost before the answer came, and a file "
                        + "with its name exists now: most likely this one."))
        }
        switch policy {
        case .skip: return .skipped
        case .keepBoth where number < Self.mostNumbers:
            number += 1
            return .goOn
        case .keepBoth:
            return .failed(
                Failure(.pathConflict, "Files with this name and with \(Self.mostNumbers) numbered names exist."))
        case .overwrite, .fail: return .failed(Failure(.pathConflict, "A file with this name exists."))
        }
    }

    /// Paths of the parent folders below `folder`, from the top down.
    private var folders: [String] {
        var path = folder
        return name.components.dropLast().map { component in
            path += PercentEncoding.component(component.utf8) + "/"
            return path
        }
    }

    private mutating func madeFolder(_ head: ResponseHead) -> UploadVerdict {
        switch head.status {
        // The folder was made (2xx), or exists already (405; RFC 4918, section 9.3.1).
        case 200...299, 405:
            missing?.removeFirst()
            return .goOn
        default:
            if case .wait(let fault, let pause) = UploadVerdict.other(head, doing: "MKCOL") {
                return .wait(fault, pause)
            }
            return .failed(
                Failure(.pathConflict, "The server has no such folder, and answered \(head.statusText) to MKCOL."))
        }
    }
}
