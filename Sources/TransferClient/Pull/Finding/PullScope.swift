import TransferModel

/// Which entries of a folder on the server are wanted.
struct PullScope: Sendable {
    /// The rules that leave entries out; nil if all are wanted.
    private var filter: WalkFilter?
    /// The pattern for which the folder is searched; nil if it is listed for another reason.
    private(set) var expansion: PullExpansion?
    private var place: PathGlob.Place?

    init(_ selection: Selection) {
        filter = selection.takesEverything ? nil : WalkFilter(selection)
    }

    /// The scope of the folder in which a pattern begins.
    init(_ selection: Selection, _ expansion: PullExpansion) {
        self.init(selection)
        (self.expansion, place) = (expansion, expansion.glob.start)
        expansion.begin()
    }

    /// Whether everything in the folder is wanted.
    var isAll: Bool { filter == nil && expansion == nil }

    /// Whether the folder's name is part of the local paths of entries in it.
    var isKept: Bool {
        guard let expansion, let place else { return true }
        return expansion.glob.isKept(at: place)
    }

    /// Whether a file is wanted, by its name.
    func takes(_ name: String) -> Bool {
        if let expansion, let place {
            guard expansion.glob.step(over: name, isDirectory: false, at: place).isMatch else { return false }
            expansion.found()
        }
        return filter?.sends(name) ?? true
    }

    /// The scope of a subfolder; nil if nothing in it is wanted.
    func entering(_ name: String) -> PullScope? {
        guard let expansion, let place else { return filtered(name) }
        let step = expansion.glob.step(over: name, isDirectory: true, at: place)
        guard step.isMatch || step.below != nil else { return nil }
        // The rules apply only from the first folder on whose name is part of the local paths (`isKept`).
        guard var inner = isKept ? filtered(name) : self else {
            expansion.found()
            return nil
        }
        if step.isMatch {
            expansion.found()
            (inner.expansion, inner.place) = (nil, nil)
        } else {
            inner.place = step.below
            expansion.begin()
        }
        return inner
    }

    private func filtered(_ name: String) -> PullScope? {
        guard let filter else { return self }
        guard let entered = filter.entering(name) else { return nil }
        var inner = self
        inner.filter = entered
        return inner
    }
}
