package import TransferModel

/// The notes of changes that were noted together, and which of the notes stay.
package struct NotedChanges: Sendable {
    /// Numbers of the notes; nil if nothing was noted.
    package let numbers: ClosedRange<Int64>?

    /// The number of the last row of uploads when the changes were noted. Rows up to this number concern what was at
    /// the paths before the changes.
    package let newest: Int64

    /// Numbers of the notes that stay when the outcome of the changes is recorded.
    package private(set) var kept: Set<Int64> = []

    package init(_ numbers: ClosedRange<Int64>?, newest: Int64) {
        (self.numbers, self.newest) = (numbers, newest)
    }

    /// For changes that have no notes.
    package static let none = NotedChanges(nil, newest: .min)

    /// The same notes, with all of them marked to stay.
    package var keepingAll: NotedChanges { keeping(numbers.map { Set($0) } ?? []) }

    /// The same notes, with those that have these numbers marked to stay.
    package func keeping(_ numbers: Set<Int64>) -> NotedChanges {
        var noted = self
        noted.kept = numbers
        return noted
    }

    /// The number of a note.
    ///
    /// - Parameter index: position among the changes that were noted together.
    /// - Returns: nil if nothing was noted.
    package func number(at index: Int) -> Int64? {
        guard let numbers, index < numbers.count else { return nil }
        return numbers.lowerBound + Int64(index)
    }
}

/// One change with its note.
package struct NotedChange: Sendable {
    package let notes: NotedChanges

    /// Nil for a note that cannot be read.
    package let change: IntendedChange?

    package init(_ change: IntendedChange?, under number: Int64, newest: Int64) {
        (notes, self.change) = (NotedChanges(number...number, newest: newest), change)
    }
}

/// A file that was acknowledged in a folder after the move of the folder was noted: it was moved along, or it arrived
/// after the move.
package struct LateUpload: Equatable, Sendable {
    package let path: String
    package let object: UInt64

    package init(_ path: String, object: UInt64) { (self.path, self.object) = (path, object) }

    /// The move of this file only, for a file that was moved along.
    ///
    /// - Parameter folder: the move of the folder that it was acknowledged in.
    package func moved(with folder: PathMove) -> PathMove {
        PathMove(
            path, to: folder.target + String(decoding: path.utf8.dropFirst(folder.path.utf8.count), as: UTF8.self),
            object: object, at: .min)
    }
}

/// Records that keep notes of intended changes.
package protocol IntendedChanges {
    /// The changes whose outcome is not recorded, in the order in which they were noted.
    func intended() throws(RecordsError) -> [NotedChange]

    /// Files that were acknowledged under the old path of a folder after its move was noted.
    func acknowledged(below move: PathMove, after noted: NotedChanges) throws(RecordsError) -> [LateUpload]

    /// Records what became of files, and removes the notes.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError)
}

extension IntendedChanges {
    /// Finds out what became of all intended changes, and records it. No other change may be noted meanwhile.
    ///
    /// - Parameters:
    ///   - keepsNotes: whether the notes stay, because a power cut may still undo the changes, so that their outcome
    ///     has to be found out again.
    ///   - look: returns the object at a path; throws if it cannot be examined.
    /// - Returns: how many changes an earlier server had not finished.
    package func resolveIntended<Failure: Error>(
        keepsNotes: Bool = false, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> Int {
        var resolved = 0
        for noted in try intended() {
            // If the outcome cannot be found out now, the note stays for the next time.
            guard let known = try outcome(of: noted, look) else { continue }
            // A note that cannot be read now can never be read, and is always removed.
            try complete(keepsNotes && noted.change != nil ? noted.notes.keepingAll : noted.notes, known)
            if noted.change != nil { resolved += 1 }
        }
        return resolved
    }

    /// What became of a noted change, including files that were moved along with a folder.
    ///
    /// - Parameter look: returns the object at a path; throws if it cannot be examined.
    /// - Returns: no changes for a note that cannot be read; nil if the outcome cannot be found out now.
    package func outcome<Failure: Error>(
        of noted: NotedChange, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> KnownChanges? {
        guard let change = noted.change, let path = RelativePath(stored: change.path),
            let target = RelativePath(stored: change.target)
        else { return KnownChanges() }
        var known: KnownChanges
        do throws(Failure) {
            known = change.outcome(try look(path), path == target ? nil : try look(target))
        } catch {
            return nil
        }
        guard let along = try whatWentAlong(with: known.folders, noted.notes, look) else { return nil }
        known.moves += along
        return known
    }

    /// Files that were moved with a folder and were acknowledged after the move was noted. The time of the rename is
    /// not known, so their paths are looked up.
    ///
    /// - Returns: nil if that cannot be found out now.
    private func whatWentAlong<Failure: Error>(
        with folders: [PathMove], _ noted: NotedChanges, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> [PathMove]? {
        var along: [PathMove] = []
        for folder in folders {
            for upload in try acknowledged(below: folder, after: noted) {
                let move = upload.moved(with: folder)
                do throws(Failure) {
                    let isThere = try upload.stands(at: move.target, look)
                    if isThere, try !upload.stands(at: upload.path, look) { along.append(move) }
                } catch {
                    return nil
                }
            }
        }
        return along
    }
}

extension LateUpload {
    fileprivate func stands<Failure: Error>(
        at path: String, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(Failure) -> Bool {
        guard let path = RelativePath(stored: path), let found = try look(path) else { return false }
        return found.form == .file && found.version.object == object
    }
}
