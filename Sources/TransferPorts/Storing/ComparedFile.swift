package import TransferModel

/// The file at a path when it was compared with what will replace or change it.
package struct ComparedFile: Sendable {
    /// How the file may have changed since then.
    package enum Tolerance: Sendable {
        /// The file must not have changed, except that a file with several names may have got or lost some.
        case none
        /// The file may have got or lost names, which changes the version like a change of content: object, size and
        /// time of modification have to be the same.
        case names
        /// The file may have changed in any way, but has to be the same object.
        case changes
        /// The entries of a folder may have changed. The object number is not enough: a file that replaces an empty
        /// folder may get its number.
        case entries
    }

    /// Nil if there was nothing at the path.
    package let version: ContentVersion?

    package let tolerance: Tolerance

    /// There was nothing at the path.
    package static let nothing = ComparedFile(nil)

    package init(_ version: ContentVersion?, tolerating tolerance: Tolerance = .none) {
        (self.version, self.tolerance) = (version, tolerance)
    }

    /// - Parameters:
    ///   - now: the version at the path; nil if the path is free, so that nothing can be lost.
    ///   - hasOtherNames: whether the file has other names.
    /// - Throws: `sourceChanged` if the path has something else by now.
    package func check(
        _ now: ContentVersion?, isFolder: Bool, hasOtherNames: Bool, _ path: RelativePath
    ) throws(Failure) {
        guard let now else { return }
        guard let version, now == version || isTolerated(now, version, isFolder, hasOtherNames) else {
            throw .changed(path)
        }
    }

    private func isTolerated(
        _ now: ContentVersion, _ version: ContentVersion, _ isFolder: Bool, _ hasOtherNames: Bool
    ) -> Bool {
        switch tolerance {
        case .none: hasOtherNames && now.hasSameContent(as: version)
        case .names: now.hasSameContent(as: version)
        case .changes: now.object == version.object
        case .entries: now.object == version.object && isFolder
        }
    }
}

extension Failure {
    package static func changed(_ path: RelativePath) -> Failure {
        Failure(
            .sourceChanged,
            "\(path) has changed since it was compared; it was left unchanged, and the next sync compares it again.")
    }
}
