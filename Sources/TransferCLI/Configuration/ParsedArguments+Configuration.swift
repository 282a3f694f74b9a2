extension ParsedArguments {
    /// Of the user's file.
    var configurationEditor: ConfigurationEditor {
        get throws(UsageError) {
            guard let path = Environment.configurationFile else {
                throw error("there is no place for a configuration; set HOME or XDG_CONFIG_HOME")
            }
            return ConfigurationEditor(path)
        }
    }
}
