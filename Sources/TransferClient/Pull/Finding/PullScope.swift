import TransferModel

/// What is wanted of a folder on the server.
struct PullScope: Sendable {
    /// What is left out; nothing where all is wanted.
    private var filter: WalkFilter?
    /// The pattern that is looked for in it, if that is why it is listed.
    private(set) var expansion: PullExpansion?
    private var place: PathGlob.Place?

    init(_ selection: Selection) {
        filter = selection.takesEverything ? nil : WalkFilter(selection)
    }

    /// The folder in which a pattern begins.
    init(_ selection: Selection, _ expansion: PullExpansion) {
        self.init(selection)
        (self.expansion, place) = (expansion, expansion.glob.start)
        expansion.begin()
    }

    /// Whether everything in the folder is wanted.
    var isAll: Bool { filter == nil && expansion == nil }

    /// Whether the names in it are part of what is found there is called.
    var isKept: Bool {
        guard let expansion, let place else { return true }
        return expansion.glob.isKept(at: place)
    }

    /// Whether a file in it is wanted, by its name.
    func takes(_ name: String) -> Bool {
        if let expansion, let place {
            guard expansion.glob.step(over: name, isDirectory: false, at: place).isMatch else { return false }
            expansion.found()
        }
        return filter?.sends(name) ?? true
    }

    /// What is wanted of a folder in it; nothing when nothing is.
    func entering(_ name: String) -> PullScope? {
        guard let expansion, let place else { return filtered(name) }
        let step = expansion.glob.step(over: name, isDirectory: true, at: place)
        guard step.isMatch || step.below != nil else { return nil }
        // Rules begin where the pattern does.
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
